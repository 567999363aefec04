import { once } from 'node:events';
import pg from 'pg';
import t from 'tap';
import { createAcceptanceNotifier } from '../../../functions/webhooks/acceptance-notifier.ts';
import { fakeClock, settle } from '../../support/clock.ts';
import { silentLog } from '../../support/log.ts';
import { hookedApp } from './hooked-app.ts';

t.test('NOTIFY follows the commit, is shared by acceptances in the meantime, and delays no response', async (t) => {
  const { pool, url, send, token, parts } = await hookedApp(t);
  const listener = new pg.Client(url);
  await listener.connect();
  t.teardown(() => listener.end());
  await listener.query('LISTEN work');
  await listener.query('LISTEN deployment_ends');
  const notifications: string[] = [];
  listener.on('notification', ({ channel, payload }) => notifications.push(`${channel} ${payload}`));

  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>;
  const released = Promise.withResolvers<void>();
  const statements: string[][] = [];
  const held = async (...args: unknown[]) => {
    const { name, values } = args[0] as { name?: string; values: [string[]] };
    if (name === 'announce-acceptance') {
      statements.push(values[0]);
      await released.promise;
    }
    return query(...args);
  };
  Object.assign(pool, { query: held });

  const ids: string[] = [];
  for (let number = 1; number <= 4; number++) {
    const { status, body } = await send({ 'x-svc-token': token }, { image: `registry.test/shop/api:v${number}` });
    t.equal(status, 202, 'accepted while the first NOTIFY is in progress');
    ids.push(body.id);
  }
  const marked = once(listener, 'notification');
  await query(`SELECT pg_notify('work', 'after them')`);
  await marked;
  t.same(notifications, ['work after them'], 'the acceptance itself sends no NOTIFY: such commits wait for each other');

  released.resolve();
  await parts.notifier.drain();
  await query(`SELECT pg_notify('work', 'last')`);
  while (notifications.at(-1) !== 'work last') await once(listener, 'notification');
  t.same(statements, [[], ids.slice(0, 3)]);
  t.same(
    notifications.slice(1, -1).sort(),
    [...ids.slice(0, 3).map((id) => `deployment_ends ${id}`), 'work ', 'work '].sort(),
  );
});

t.test('acceptances within the delay share one statement', async (t) => {
  const clock = fakeClock();
  const statements: string[][] = [];
  const pool = { query: ({ values }: { values: [string[]] }) => Promise.resolve(statements.push(values[0])) };
  const notifier = createAcceptanceNotifier({ pool: pool as unknown as pg.Pool, clock, log: silentLog });
  notifier.add(['a']);
  notifier.add([]);
  notifier.add(['b', 'c']);
  t.same(statements, [], 'the response is sent first');
  let isDrained = false;
  const drained = notifier.drain().then(() => (isDrained = true));
  await settle();
  t.notOk(isDrained, 'a process that ends sends it before');
  await clock.advance(20);
  await drained;
  t.same(statements, [['a', 'b', 'c']]);
  await notifier.drain();
});

t.test('a failed NOTIFY only costs time', async (t) => {
  const { pool, send, token, parts } = await hookedApp(t);
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>;
  let failed = 0;
  const failingQuery = (...args: unknown[]) => {
    if ((args[0] as { name?: string }).name !== 'announce-acceptance') return query(...args);
    failed++;
    return Promise.reject(new Error('Connection terminated unexpectedly'));
  };
  Object.assign(pool, { query: failingQuery });
  for (const number of [1, 2]) {
    const answer = await send({ 'x-svc-token': token }, { image: `registry.test/shop/api:v${number}` });
    t.match(answer, { status: 202, body: { revision: number } });
    await parts.notifier.drain();
  }
  t.equal(failed, 2);
});
