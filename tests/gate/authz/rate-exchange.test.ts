import t, { type Test } from 'tap';
import { createRateExchange } from '../../../gate/authz/rate-exchange.ts';
import { createPostgresRateChannel, type RateChannelEvents } from '../../../gate/authz/rate-channel.ts';
import { messageKeys, readRateMessage, writeRateMessage } from '../../../gate/authz/rate-message.ts';
import { generateApiKey } from '../../../runtime/domain/api-key.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { fakeClock, settle } from '../../support/clock.ts';
import { recordingLog, silentLog } from '../../support/log.ts';
import { eventually } from '../../support/platform.ts';
import { testDatabase } from '../../support/postgres.ts';
import { bench, good, keyRow, planRow, request } from './records.ts';

/** An exchange over a channel whose messages a test sees and answers. */
async function rig(t: Test, { echoes = true } = {}) {
  const clock = fakeClock();
  const gate = bench({ clock });
  const key = keyRow();
  gate.load({ plans: [planRow({ requestsPerSecond: 1, burst: 100 })], keys: [key] });
  gate.view.provenAt(0);
  const sent: string[] = [];
  const channel = { echoes, opens: 0, ended: 0, events: undefined as RateChannelEvents | undefined };
  const trouble = recordingLog();
  let failures = 0;
  const exchange = createRateExchange({
    open: async (events) => {
      channel.opens++;
      channel.events = events;
      return {
        async send(messages) {
          sent.push(...messages);
          if (channel.echoes) messages.forEach((message) => events.received(message));
        },
        end: () => channel.ended++,
      };
    },
    rates: gate.rates,
    clock,
    log: trouble.log,
    onFailure: () => failures++,
  });
  t.teardown(() => exchange.stop());
  gate.rates.counted(2);
  exchange.start();
  await settle();
  return {
    clock,
    gate,
    key,
    channel,
    exchange,
    trouble,
    failures: () => failures,
    /** The messages since the last call. */
    sent: () => sent.splice(0).map((text) => readRateMessage(text)),
    allow: (times: number) => {
      const moment = { monotonic: clock.monotonic(), wall: clock.now().getTime() };
      gate.view.provenAt(moment.monotonic);
      return Array.from({ length: times }, () => gate.check(request({ apiKey: good.key }), moment).decision).filter(
        (decision) => decision === 'allow',
      ).length;
    },
  };
}

t.test(
  'reports what was taken ten times a second, and sooner when a key is close to its unshared maximum',
  async (t) => {
    const { clock, gate, allow, sent, key } = await rig(t);
    t.match(sent(), [{ number: 1, taken: [] }], 'a first one, which proves that messages arrive');
    await clock.advance(5_000);
    sent();
    t.equal(allow(10), 10);
    await clock.advance(200);
    t.same(sent(), [], 'little is not worth a message');
    t.equal(allow(20), 20);
    await clock.advance(0);
    t.match(sent(), [{ taken: [{ keyId: key.id }] }], 'the last one is long ago');
    t.equal(allow(30), 30);
    await clock.advance(90);
    t.same(sent(), []);
    await clock.advance(10);
    t.match(sent(), [{ taken: [{ keyId: key.id, tokens: 30 }] }]);
    gate.rates.counted(3);
    t.equal(allow(30), 30);
    await clock.advance(19);
    t.same(sent(), []);
    await clock.advance(1);
    t.match(sent(), [{ taken: [{ keyId: key.id, tokens: 30 }] }]);
  },
);

t.test('what others took counts, and one message of it is enough', async (t) => {
  const { channel, key, allow, gate } = await rig(t);
  const message = { sender: newId(), number: 1, taken: [{ keyId: key.id, tokens: 70 }] };
  channel.events?.received(writeRateMessage(message));
  channel.events?.received(writeRateMessage({ ...message, taken: [{ keyId: newId(), tokens: 70 }] }));
  for (const text of ['', 'x', `${newId()} x`, `${newId()} 1 ${key.id}`, `${newId()} 1 ${key.id}=-5`, 'a 1 b=Infinity'])
    channel.events?.received(text);
  t.equal(allow(100), 30);
  t.equal(gate.rates.replicas(), 2);
});

t.test('requests that are denied cause no messages', async (t) => {
  const { clock, allow, sent, gate } = await rig(t);
  t.equal(allow(100), 100);
  await clock.advance(5_000);
  sent();
  t.equal(allow(1_000), 5);
  const moment = { monotonic: clock.monotonic(), wall: clock.now().getTime() };
  for (let turn = 0; turn < 1_000; turn++) gate.check(request({ apiKey: generateApiKey().key }), moment);
  await clock.advance(4_000);
  t.same(
    sent().flatMap((message) => message?.taken),
    [],
  );
});

t.test('takes no more than the unshared maximum before a report arrives', async (t) => {
  const { clock, channel, gate, allow } = await rig(t);
  gate.rates.counted(5);
  channel.echoes = false;
  t.equal(allow(100), 25, 'a fourth of the burst for each of five');
  await clock.advance(100);
  t.equal(allow(100), 0);
  channel.echoes = true;
  t.equal(gate.rates.replicas(), 5);
});

t.test('a report that does not come back ends the sharing, which begins again with one that does', async (t) => {
  const { clock, channel, gate, trouble, failures, allow } = await rig(t);
  channel.echoes = false;
  t.equal(allow(60), 60);
  await clock.advance(1_100);
  t.same([gate.rates.shared(), gate.rates.replicas(), failures(), channel.ended], [false, 1, 1, 1]);
  t.match(trouble.entries, [{ msg: 'rate limits are not shared, each replica limits on its own' }]);
  t.equal(allow(100), 41, 'its own bucket');
  for (let turn = 0; turn < 8; turn++) await clock.advance(1_000);
  t.equal(gate.rates.shared(), false, 'a connection alone proves nothing');
  t.equal(trouble.entries.length, 1, 'one entry for all attempts');
  channel.echoes = true;
  for (let turn = 0; turn < 8; turn++) await clock.advance(1_000);
  t.same([gate.rates.shared(), gate.rates.replicas()], [true, 2]);
  t.match(trouble.entries[1], { msg: 'rate limits are shared again' });
});

t.test('a lost connection is noticed at once', async (t) => {
  const { channel, gate } = await rig(t);
  channel.events?.lost();
  await settle();
  t.same([gate.rates.shared(), channel.ended], [false, 1]);
});

t.test('an idle exchange proves every five seconds that messages arrive', async (t) => {
  const { clock, sent, gate } = await rig(t);
  sent();
  for (let turn = 0; turn < 20; turn++) await clock.advance(500);
  t.equal(sent().length, 2);
  gate.rates.counted(1);
  for (let turn = 0; turn < 20; turn++) await clock.advance(500);
  t.same(sent(), [], 'and not without others');
});

t.test('an earlier report that comes back says nothing of the last one', async (t) => {
  const { clock, channel, allow, sent, failures } = await rig(t);
  const [first] = sent();
  channel.echoes = false;
  t.equal(allow(60), 60);
  await clock.advance(20);
  t.match(sent(), [{ sender: first?.sender, number: 2 }]);
  channel.events?.received(writeRateMessage({ sender: first?.sender ?? newId(), number: 1, taken: [] }));
  await clock.advance(999);
  t.equal(failures(), 0);
  await clock.advance(1);
  t.equal(failures(), 1);
});

t.test('more keys than fit into a report are reported by the next ones, without a further request', async (t) => {
  const { clock, gate, sent, key } = await rig(t);
  const count = 10 * messageKeys;
  const keys = Array.from({ length: 2 * count + 1 }, () => keyRow({ handle: generateApiKey().handle }));
  gate.load({ plans: [planRow({ requestsPerSecond: 1, burst: 100 })], keys: [key, ...keys] });
  gate.view.provenAt(0);
  const takenBy = (rows: typeof keys) => {
    for (const { id } of rows) {
      const gateKey = gate.view.keyOf(id);
      if (!gateKey) throw new Error('the key is loaded');
      gate.view.keepBucket(gateKey, { taken: 30, at: 0, unshared: 30 });
      gate.rates.took(gateKey, gate.view.bucket(gateKey));
    }
  };
  sent();
  takenBy(keys);
  const reports: number[][] = [];
  for (let turn = 0; turn < 4; turn++) {
    await clock.advance(100);
    reports.push(sent().map((message) => message?.taken.length ?? 0));
  }
  const full = Array<number>(10).fill(messageKeys);
  t.same(reports, [full, full, [1], []]);
});

t.test('a key that can wait does not delay one that is close to its unshared maximum', async (t) => {
  const { clock, gate, allow, sent, key } = await rig(t);
  const other = keyRow({ handle: generateApiKey().handle });
  gate.load({ plans: [planRow({ requestsPerSecond: 1, burst: 100 })], keys: [key, other] });
  await clock.advance(100);
  sent();
  t.equal(allow(60), 60);
  const gateKey = gate.view.keyOf(other.id);
  if (!gateKey) throw new Error('the key is loaded');
  gate.rates.took(gateKey, { taken: 26, at: 0, unshared: 26 });
  await clock.advance(20);
  t.match(sent(), [{ taken: [{ keyId: key.id, tokens: 60 }] }]);
});

t.test(
  'connects again after a quarter of a second, and then after twice as long up to five, or a part of it',
  async (t) => {
    for (const [random, part] of [
      [0, 0.5],
      [1, 1],
    ] as const) {
      const { clock, channel, gate, trouble } = await rig(t);
      t.intercept(Math, 'random', { value: () => random });
      channel.echoes = false;
      channel.events?.lost();
      await settle();
      for (const wait of [250, 500, 1_000, 2_000, 4_000, 5_000, 5_000]) {
        const { opens } = channel;
        await clock.advance(wait * part - 1);
        t.equal(channel.opens, opens, `before ${wait * part} ms`);
        await clock.advance(1);
        t.equal(channel.opens, opens + 1, `after ${wait * part} ms`);
        await clock.advance(1_000);
      }
      channel.echoes = true;
      await clock.advance(5_000);
      t.equal(gate.rates.shared(), true);
      t.equal(trouble.entries.length, 2);
      // One failure is enough to say that it is over.
      channel.events?.lost();
      await settle();
      await clock.advance(250);
      t.match(trouble.entries.slice(2), [{ msg: /not shared/ }, { msg: /shared again/, failures: 1 }]);
    }
  },
);

t.test('a stop sends nothing more and is no failure', async (t) => {
  const { exchange, allow, sent, trouble, failures } = await rig(t);
  sent();
  t.equal(allow(60), 60);
  await exchange.stop();
  t.same([sent(), trouble.entries, failures()], [[], [], 0]);
});

t.test('a message of the largest size fits into a notification', (t) => {
  const taken = Array.from({ length: messageKeys }, () => ({ keyId: newId(), tokens: 1_000_000 }));
  const message = { sender: newId(), number: Number.MAX_SAFE_INTEGER, taken };
  const text = writeRateMessage(message);
  t.ok(text.length < 8_000, `${text.length} bytes`);
  t.same(readRateMessage(text), message);
  t.end();
});

t.test('PostgreSQL passes messages to all, in one order, and the end of a connection', async (t) => {
  const { url, pool } = await testDatabase(t);
  const open = createPostgresRateChannel({ connectionString: url, application_name: 'rates' });
  const received: string[][] = [[], []];
  let wake: (() => void) | undefined;
  const lost = [false, false];
  const channels = await Promise.all(
    received.map((list, index) =>
      open({
        received(message) {
          list.push(message);
          wake?.();
        },
        lost() {
          lost[index] = true;
          wake?.();
        },
      }),
    ),
  );
  const until = async (reached: () => boolean) => {
    while (!reached()) await new Promise<void>((resolve) => (wake = resolve));
  };
  await Promise.all([channels[0]?.send(['a', `it's "b"`]), channels[1]?.send(['c'])]);
  await until(() => received.every(({ length }) => length === 3));
  t.same(received[0], received[1]);
  t.same(new Set(received[0]), new Set(['a', `it's "b"`, 'c']));
  await t.rejects(async () => channels[0]?.send(['x'.repeat(8_000)]), 'longer than PostgreSQL allows');
  await pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name = 'rates' AND datname = current_database()`,
  );
  await until(() => lost.every(Boolean));
  for (const channel of channels) channel.end();
});

t.test('replicas get what each other took through PostgreSQL', async (t) => {
  const { url } = await testDatabase(t);
  const key = keyRow();
  const replicas = ['a', 'b'].map((name) => {
    const gate = bench();
    gate.load({ plans: [planRow({ requestsPerSecond: 1_000, burst: 1_000 })], keys: [key] });
    const open = createPostgresRateChannel({ connectionString: url, application_name: name });
    const exchange = createRateExchange({ open, rates: gate.rates, clock: systemClock, log: silentLog });
    t.teardown(() => exchange.stop());
    gate.rates.counted(2);
    exchange.start();
    return gate;
  });
  const [first, second] = replicas;
  if (!first || !second) throw new Error('there are two replicas');
  const slot = second.slots.find(key.id);
  await eventually(
    () => {
      const moment = { monotonic: systemClock.monotonic(), wall: systemClock.now().getTime() };
      first.view.provenAt(moment.monotonic);
      for (let turn = 0; turn < 300; turn++) first.check(request(), moment);
      return Promise.resolve(second.view.bucket({ slot }).taken);
    },
    (taken) => taken >= 250,
  );
});
