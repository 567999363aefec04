import type { Pool } from 'pg';
import t from 'tap';
import { createLoginLimit, type Guesser } from '../../../functions/sessions/login-limit.ts';
import { fakeClock } from '../../support/clock.ts';
import { testDatabase } from '../../support/postgres.ts';

const second = 1000;
const minute = 60 * second;
const at = (client: string): Guesser => ({ client });

async function world(t: { teardown(end: () => unknown): void }) {
  const { pool } = await testDatabase(t);
  const clock = fakeClock(new Date('2026-11-21T12:00:00Z'));
  return { pool, clock, limit: createLoginLimit({ pool, clock }) };
}

async function rows(pool: Pool): Promise<number> {
  return Number((await pool.query<{ n: string }>('SELECT count(*) AS n FROM login_attempts')).rows[0]?.n);
}

/** The number of attempts before the first refusal. */
async function free(take: () => Promise<number>): Promise<number> {
  for (let done = 0; ; done++) if ((await take()) > 0) return done;
}

t.test('ten attempts of one client for one account, then one every 90 seconds', async (t) => {
  const { pool, clock, limit } = await world(t);
  const replica = createLoginLimit({ pool, clock });
  const waits = await Promise.all(
    Array.from({ length: 14 }, (_, index) => (index % 2 ? limit : replica).take('a', at('192.0.2.1'))),
  );
  t.same(waits.filter((wait) => wait === 0).length, 10);
  t.same(new Set(waits), new Set([0, 90]));
  await clock.advance(80 * second);
  t.equal(await createLoginLimit({ pool, clock }).take('a', at('192.0.2.1')), 10);
  t.equal(await limit.take('b', at('192.0.2.1')), 0, 'another account');
  t.equal(await limit.take('a', at('192.0.2.2')), 0, 'another client');
  await clock.advance(10 * second);
  t.equal(await limit.take('a', at('192.0.2.1')), 0);
  t.equal(await limit.take('a', at('192.0.2.1')), 90);
  await clock.advance(15 * minute);
  t.equal(await free(() => limit.take('a', at('192.0.2.1'))), 10, 'all of them are available again');
});

t.test('a hundred attempts of one client, whatever the accounts; a success does not count', async (t) => {
  const { clock, limit } = await world(t);
  for (let index = 0; index < 5; index++) {
    await limit.take('mine', at('192.0.2.1'));
    await limit.clear('mine', at('192.0.2.1'));
  }
  let number = 0;
  t.equal(await free(() => limit.take(`account-${number++}`, at('192.0.2.1'))), 100);
  t.equal(await limit.take('account-1', at('192.0.2.2')), 0, 'another client');
  await clock.advance(9 * second);
  t.equal(await limit.take('mine', at('192.0.2.1')), 0, 'one every nine seconds');
  t.equal(await limit.take('mine', at('192.0.2.1')), 9);
});

t.test('an IPv6 client is its /64', async (t) => {
  const { limit } = await world(t);
  let number = 0;
  t.equal(await free(() => limit.take('a', at(`2001:db8:0:1::${(number++).toString(16)}`))), 10);
  t.ok(await limit.take('a', at('2001:0db8::1:ffff:ffff:ffff:ffff')));
  t.equal(await limit.take('a', at('2001:db8:0:2::1')), 0);
});

t.test('an address inside the network stands for many clients', async (t) => {
  for (const address of ['10.42.0.1', '127.0.0.1', '192.168.1.1', '169.254.1.1', '::1', 'fd00::1']) {
    const { limit } = await world(t);
    t.equal(await free(() => limit.take('a', at(address))), 100, address);
    t.equal(await limit.take('b', at(address)), 0, 'other accounts are not affected');
  }
});

t.test('guesses for one account from many addresses limit each other, but not its own devices', async (t) => {
  const { limit } = await world(t);
  // Refused attempts do not count for other clients.
  for (let index = 0; index < 150; index++) await limit.take('a', at('203.0.113.250'));
  let number = 0;
  t.equal(await free(() => limit.take('a', at(`203.0.113.${number++}`))), 90);
  t.ok((await limit.take('a', at('198.51.100.1'))) > 0, 'strangers');
  t.equal(await limit.take('a', { own: 'laptop' }), 0, 'a device that signed in before');
  t.equal(await limit.take('b', at('203.0.113.1')), 0, 'another account');
});

t.test('a known device is limited by its own attempts only', async (t) => {
  const { clock, limit } = await world(t);
  t.equal(await free(() => limit.take('a', { own: 'laptop' })), 10);
  t.equal(await limit.take('a', { own: 'laptop' }), 30);
  t.equal(await limit.take('a', { own: 'phone' }), 0, 'another device');
  t.equal(await limit.take('b', { own: 'laptop' }), 0, 'another account');
  t.equal(await limit.take('a', at('192.0.2.1')), 0, 'strangers');
  await clock.advance(30 * second);
  t.equal(await limit.take('a', { own: 'laptop' }), 0);
  await limit.clear('a', { own: 'laptop' });
  t.equal(await free(() => limit.take('a', { own: 'laptop' })), 10, 'the success clears the wrong ones');
});

t.test('the stored counts are bounded; the smallest are removed first', async (t) => {
  const { pool, clock } = await world(t);
  const limit = createLoginLimit({ pool, clock, maximum: 50 });
  await free(() => limit.take('a', at('192.0.2.1')));
  for (let index = 0; index < 600; index++) await limit.take(`a-${index}`, at(`198.18.${index >> 8}.${index & 255}`));
  t.ok((await rows(pool)) < 1000, 'of 1,800');
  const fresh = createLoginLimit({ pool, clock, maximum: 50 });
  t.ok((await fresh.take('a', at('192.0.2.1'))) > 0, 'still refused');
  t.ok((await rows(pool)) <= 53);
  await clock.advance(15 * minute);
  await createLoginLimit({ pool, clock }).take('c', at('192.0.2.3'));
  t.equal(await rows(pool), 3, 'nothing is kept for longer');
  const { rows: kept } = await pool.query('SELECT * FROM login_attempts');
  t.ok(
    kept.every(({ key }: { key: Buffer }) => key.length === 32),
    'digests only',
  );
});
