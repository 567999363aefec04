import { once } from 'node:events';
import pg from 'pg';
import t from 'tap';
import { createAnnouncements } from '../../../functions/webhooks/announcements.ts';
import { fakeClock } from '../../support/clock.ts';
import { silentLog } from '../../support/log.ts';
import { hookedApp } from './hooked-app.ts';

t.test(
  'an acceptance is told after its commit, to those that come meanwhile in one go, and nobody waits',
  async (t) => {
    const { pool, url, send, token, parts } = await hookedApp(t);
    const listener = new pg.Client(url);
    await listener.connect();
    t.teardown(() => listener.end());
    await listener.query('LISTEN work');
    await listener.query('LISTEN deployment_ends');
    const heard: string[] = [];
    listener.on('notification', ({ channel, payload }) => heard.push(`${channel} ${payload}`));

    const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>;
    const released = Promise.withResolvers<void>();
    const told: string[][] = [];
    const held = async (...args: unknown[]) => {
      const { name, values } = args[0] as { name?: string; values: [string[]] };
      if (name === 'announce-acceptance') {
        told.push(values[0]);
        await released.promise;
      }
      return query(...args);
    };
    Object.assign(pool, { query: held });

    const ids: string[] = [];
    for (let number = 1; number <= 4; number++) {
      const { status, body } = await send({ 'x-svc-token': token }, { image: `registry.test/shop/api:v${number}` });
      t.equal(status, 202, 'accepted while the announcement of the first is under way');
      ids.push(body.id);
    }
    const marked = once(listener, 'notification');
    await query(`SELECT pg_notify('work', 'after them')`);
    await marked;
    t.same(heard, ['work after them'], 'an acceptance itself notifies nobody: such commits wait for each other');

    released.resolve();
    await parts.announcements.done();
    await query(`SELECT pg_notify('work', 'last')`);
    while (heard.at(-1) !== 'work last') await once(listener, 'notification');
    t.same(told, [[], ids.slice(0, 3)]);
    t.same(
      heard.slice(1, -1).sort(),
      [...ids.slice(0, 3).map((id) => `deployment_ends ${id}`), 'work ', 'work '].sort(),
    );
  },
);

t.test('those that are accepted in one moment are told in one statement', async (t) => {
  const clock = fakeClock();
  const told: string[][] = [];
  const pool = { query: ({ values }: { values: [string[]] }) => Promise.resolve(told.push(values[0])) };
  const announcements = createAnnouncements({ pool: pool as unknown as pg.Pool, clock, log: silentLog });
  announcements.add(['a']);
  announcements.add([]);
  announcements.add(['b', 'c']);
  t.same(told, [], 'the answer goes first');
  await clock.advance(20);
  await announcements.done();
  t.same(told, [['a', 'b', 'c']]);
});

t.test('an announcement that fails costs nothing but time', async (t) => {
  const { pool, send, token, parts } = await hookedApp(t);
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>;
  let failed = 0;
  const broken = (...args: unknown[]) => {
    if ((args[0] as { name?: string }).name !== 'announce-acceptance') return query(...args);
    failed++;
    return Promise.reject(new Error('Connection terminated unexpectedly'));
  };
  Object.assign(pool, { query: broken });
  for (const number of [1, 2]) {
    const answer = await send({ 'x-svc-token': token }, { image: `registry.test/shop/api:v${number}` });
    t.match(answer, { status: 202, body: { revision: number } });
    await parts.announcements.done();
  }
  t.equal(failed, 2);
});
