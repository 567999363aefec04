import t from 'tap';
import { streamReply } from '../../runtime/api/log-reply.ts';
import { systemClock, type Clock } from '../../runtime/domain/clock.ts';

/*
 * console-api streams the logs of every tenant. Pods that print much or without a newline, and clients that open streams and
 * read none, must not cost its memory or the places of others.
 */

t.test('a stream keeps no line that its client has taken', async (t) => {
  let reactions = 0;
  /** Counts what waits for it: each race keeps its result for as long as the promise lives. */
  class CountedPromise<T> extends Promise<T> {
    // oxlint-disable-next-line unicorn/no-thenable -- a promise has one
    override then: Promise<T>['then'] = (onFulfilled, onRejected) => {
      reactions += 1;
      return super.then(onFulfilled, onRejected);
    };
  }
  const clock: Clock = {
    ...systemClock,
    sleep: (_ms, signal) =>
      new CountedPromise((_resolve, reject) =>
        signal?.addEventListener('abort', () => reject(new Error('the stream has ended'))),
      ),
  };
  const count = 10_000;
  const { body } = streamReply(clock, new AbortController().signal, async function* () {
    for (let index = 0; index < count; index++) yield { line: String(index) };
  });
  let text = '';
  for await (const chunk of body) text += String(chunk);
  t.equal(text.trim().split('\n').length, count);
  t.ok(reactions < 10, `${reactions} reactions to the pause`);
});
