import { mock } from 'node:test';
import t from 'tap';
import { readLog } from '../../../functions/console/ui/logs/reader.ts';

const range = { sinceSeconds: 3_600, level: undefined, pod: undefined, at: undefined };

t.test('while the API does not answer, a hidden page does not ask for the log', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  let requests = 0;
  let answer: () => Response = () => {
    throw new TypeError('no connection');
  };
  const fetchMock = mock.method(globalThis, 'fetch', async () => {
    requests += 1;
    return answer();
  });
  t.teardown(() => {
    mock.timers.reset();
    fetchMock.mock.restore();
  });
  const reader = readLog({ path: '/projects/shop/apps/api/logs', environment: 'prod', range, follows: false });
  t.teardown(() => reader.stop());
  /** The next change of the state. */
  const changed = () =>
    new Promise<void>((resolve) => {
      const end = reader.subscribe(() => {
        end();
        resolve();
      });
    });
  await changed();
  t.match(reader.state(), { error: { code: 'unreachable' }, isRead: true });

  reader.show(false);
  answer = () => Response.json({ items: [{ pod: 'api-1', time: '2026-01-01T00:00:00Z', line: 'hello' }] });
  mock.timers.tick(60_000);
  // What follows the timer takes turns of the queue of promises, and no other time.
  for (let turn = 0; turn < 100; turn++) await Promise.resolve();
  t.equal(requests, 1);

  const read = changed();
  reader.show(true);
  await read;
  t.equal(requests, 2);
  t.equal(reader.state().error, undefined);
});
