import { InfiniteQueryObserver, QueryClient } from '@tanstack/react-query';
import t from 'tap';
import { createChanges } from '../../../functions/console/ui/api/changes.ts';
import { isAbout, live, sendAgain } from '../../../functions/console/ui/api/live.ts';
import type { WatchMessage } from '../../../runtime/contracts/api/watch.ts';

const ready = (number: number): WatchMessage => ({ type: 'ready', cursor: `c${number}` });
const changed = (number: number): WatchMessage => ({
  type: 'modified',
  kind: 'App',
  environment: 'prod',
  name: 'api',
  cursor: `c${number}`,
});

/** A reader whose streams are these, one after the other; a number in a stream is the status of a refusal. */
function reader(streams: readonly (readonly (WatchMessage | undefined | number)[])[]) {
  const seen = { cursors: [] as (string | undefined)[], changes: [] as unknown[], states: [] as boolean[] };
  const pauses: number[] = [];
  const left = [...streams];
  const finished = Promise.withResolvers<void>();
  const changes = createChanges({
    async *open(cursor) {
      seen.cursors.push(cursor);
      const stream = left.shift();
      if (!stream) {
        changes.stop();
        finished.resolve();
        return;
      }
      for (const message of stream) {
        if (typeof message === 'number') throw Object.assign(new Error('refused'), { status: message });
        yield message;
      }
    },
    onChange: (change) => void seen.changes.push(change),
    onInterrupted: (isInterrupted) => void seen.states.push(isInterrupted),
    isFinal(error) {
      const isFinal = (error as { status?: number }).status === 401;
      if (isFinal) finished.resolve();
      return isFinal;
    },
    pause: async (ms) => void pauses.push(ms),
  });
  return { changes, seen, pauses, finished: finished.promise };
}

t.test('a stream that ends is opened again after its last message', async (t) => {
  const { changes, seen, finished } = reader([[ready(1), undefined, changed(2)], [ready(2), changed(3)], [ready(3)]]);
  changes.start();
  changes.start();
  await finished;
  t.same(seen.cursors, [undefined, 'c2', 'c3', 'c3'], 'a second start changes nothing');
  t.same(seen.changes, ['all', changed(2), changed(3)], 'what was read before the first stream may be old');
  t.same(seen.states.includes(true), false, 'an end is no interruption');
});

t.test('when changes are unknown, everything is read again', async (t) => {
  const { changes, seen, finished } = reader([[ready(1)], [{ type: 'reset', cursor: 'c9' }, changed(10)]]);
  changes.start();
  await finished;
  t.same(seen.changes, ['all', 'all', changed(10)]);
  t.same(seen.cursors, [undefined, 'c1', 'c10']);
});

t.test('a failure is told, and is tried again after longer and longer pauses', async (t) => {
  const { changes, seen, pauses, finished } = reader([[503], [503], [], [ready(1), 503], [503]]);
  changes.start();
  await finished;
  t.match(seen.states.slice(0, 4), [true, true, true, false]);
  t.equal(pauses.length, 5);
  for (const [index, most] of [2_000, 4_000, 8_000].entries()) {
    const pause = pauses[index] ?? 0;
    t.ok(pause >= most / 2 && pause <= most, `${pause} of ${most} ms`);
  }
  t.ok((pauses[3] ?? Infinity) <= 8_000 * 2, 'a stream that had begun');
});

t.test('a refusal that lasts ends the reading, and the pages ask for the reason', async (t) => {
  const { changes, seen, finished } = reader([[ready(1), 401], [ready(2)]]);
  changes.start();
  await finished;
  await Promise.resolve();
  t.same(seen.cursors, [undefined]);
  t.same(seen.changes, ['all', 'all']);
});

t.test('a change concerns the queries of its project, environment and kind', async (t) => {
  const query = (queryKey: readonly unknown[], live?: 'all' | ['App']) => ({ queryKey, meta: live && { live } });
  const about = (queryKey: readonly unknown[], live: 'all' | ['App'] | undefined = 'all', message = changed(1)) =>
    isAbout(query(queryKey, live), 'shop', message);
  t.ok(about(['project', 'shop', 'prod', 'apps']));
  t.ok(about(['project', 'shop', 'prod', 'apps'], ['App']));
  t.ok(about(['project', 'shop']), 'a query about the whole project');
  t.ok(about(['project', 'shop', null, 'app']));
  t.notOk(about(['project', 'shop', 'staging', 'apps']), 'another environment');
  t.notOk(about(['project', 'other', 'prod', 'apps']));
  t.notOk(about(['session']));
  t.notOk(isAbout(query(['project', 'shop', 'prod', 'top']), 'shop', 'all'), 'a query that polls');
  const member: WatchMessage = { type: 'added', kind: 'Member', cursor: 'c' };
  t.notOk(about(['project', 'shop', 'prod', 'apps'], ['App'], member), 'another kind');
  t.ok(about(['project', 'shop', 'prod', 'apps'], 'all', member));
  t.ok(isAbout(query(['project', 'shop', 'prod', 'apps'], ['App']), 'shop', 'all'));
});

t.test('a change does not cancel the request for older entries', async (t) => {
  const client = new QueryClient();
  t.teardown(() => client.clear());
  const requests: { page: number; answer: PromiseWithResolvers<string> }[] = [];
  const list = new InfiniteQueryObserver(client, {
    queryKey: ['project', 'shop', null, 'audit'],
    queryFn: ({ pageParam }) => {
      const answer = Promise.withResolvers<string>();
      requests.push({ page: pageParam, answer });
      return answer.promise;
    },
    initialPageParam: 0,
    getNextPageParam: (_, pages) => pages.length,
    ...live,
  });
  t.teardown(list.subscribe(() => {}));
  requests[0]?.answer.resolve('newest');
  await list.fetchOptimistic(list.options);

  const older = list.fetchNextPage();
  await sendAgain(client, 'shop', ['all']);
  requests[1]?.answer.resolve('older');
  t.same((await older).data?.pages, ['newest', 'older']);

  const again = sendAgain(client, 'shop', [changed(1)]);
  requests[2]?.answer.resolve('newest, again');
  t.same(
    requests.map(({ page }) => page),
    [0, 1, 0],
    'a later change sends the list again',
  );
  await client.cancelQueries();
  await again;
});
