import type { Pool } from 'pg';
import t from 'tap';
import { createLoginLimit } from '../../../functions/sessions/login-limit.ts';
import { fakeClock } from '../../support/clock.ts';
import { testDatabase } from '../../support/postgres.ts';

const minute = 60_000;

async function world(t: { teardown(end: () => unknown): void }) {
  const { pool } = await testDatabase(t);
  const clock = fakeClock(new Date('2026-11-21T12:00:00Z'));
  return { pool, clock, limit: createLoginLimit({ pool, clock }) };
}

async function rows(pool: Pool): Promise<number> {
  return Number((await pool.query<{ n: string }>('SELECT count(*) AS n FROM login_attempts')).rows[0]?.n);
}

/** The number of attempts of one client for one account before the first refusal. */
async function free(take: () => Promise<number>): Promise<number> {
  for (let done = 0; ; done++) if ((await take()) > 0) return done;
}

t.test('ten attempts of one client for one account in 15 minutes, across restarts and replicas', async (t) => {
  const { pool, clock, limit } = await world(t);
  const replica = createLoginLimit({ pool, clock });
  const waits = await Promise.all(
    Array.from({ length: 14 }, (_, index) => (index % 2 ? limit : replica).take('a', '192.0.2.1')),
  );
  t.same(waits.filter((wait) => wait === 0).length, 10);
  t.same(new Set(waits), new Set([0, 900]));
  await clock.advance(14 * minute);
  t.equal(await createLoginLimit({ pool, clock }).take('a', '192.0.2.1'), 60);
  t.equal(await limit.take('b', '192.0.2.1'), 0, 'another account');
  t.equal(await limit.take('a', '192.0.2.2'), 0, 'another client');
  await clock.advance(minute);
  t.equal(await limit.take('a', '192.0.2.1'), 0);
});

t.test('a hundred attempts of one client, whatever the accounts; a success does not count', async (t) => {
  const { limit } = await world(t);
  for (let index = 0; index < 5; index++) {
    await limit.take('mine', '192.0.2.1');
    await limit.clear('mine', '192.0.2.1');
  }
  let number = 0;
  const passed = await free(() => limit.take(`account-${number++}`, '192.0.2.1'));
  t.equal(passed, 100);
  t.equal(await limit.take('mine', '192.0.2.1'), 0, 'a client that signed in before is not limited by others');
  t.equal(await limit.take('account-1', '192.0.2.2'), 0, 'nor is another client');
});

t.test('an IPv6 client is its /64', async (t) => {
  const { limit } = await world(t);
  let number = 0;
  t.equal(await free(() => limit.take('a', `2001:db8:0:1::${(number++).toString(16)}`)), 10);
  t.ok(await limit.take('a', '2001:0db8::1:ffff:ffff:ffff:ffff'));
  t.equal(await limit.take('a', '2001:db8:0:2::1'), 0);
  t.equal(await limit.take('a', '::ffff:192.0.2.1'), 0);
  t.equal(await limit.take('a', '::1'), 0);
});

t.test('guesses for one account from many addresses limit each other, but not its owner', async (t) => {
  const { limit } = await world(t);
  await limit.take('a', '198.51.100.1');
  await limit.clear('a', '198.51.100.1');
  // Refused attempts no longer count for other accounts.
  for (let index = 0; index < 150; index++) await limit.take('a', '203.0.113.250');
  let number = 0;
  t.equal(await free(() => limit.take('a', `203.0.113.${number++}`)), 90);
  t.equal(await limit.take('a', '198.51.100.1'), 0, 'from the address where the owner has signed in');
  t.equal(await limit.take('b', '203.0.113.1'), 0, 'another account');
});

t.test('the stored counts are bounded; the smallest are removed first', async (t) => {
  const { pool, clock } = await world(t);
  const limit = createLoginLimit({ pool, clock, maximum: 50 });
  await free(() => limit.take('a', '192.0.2.1'));
  await limit.take('b', '192.0.2.2');
  await limit.clear('b', '192.0.2.2');
  for (let index = 0; index < 600; index++) await limit.take(`a-${index}`, `10.0.${index >> 8}.${index & 255}`);
  t.ok((await rows(pool)) < 1000, 'of 1,800');
  const fresh = createLoginLimit({ pool, clock, maximum: 50 });
  t.ok((await fresh.take('a', '192.0.2.1')) > 0, 'still refused');
  t.ok((await rows(pool)) <= 53);
  await clock.advance(15 * minute);
  await createLoginLimit({ pool, clock }).take('c', '192.0.2.3');
  t.equal(await rows(pool), 4, 'the windows have ended, and one client is remembered for a month');
  const { rows: kept } = await pool.query('SELECT * FROM login_attempts');
  t.ok(
    kept.every(({ key }: { key: Buffer }) => key.length === 32),
    'digests only',
  );
});
