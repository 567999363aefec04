import t, { type Test } from 'tap';
import type { GateSession } from '../../../gate/authz/gate-store.ts';
import { createKeySlots } from '../../../gate/authz/key-slots.ts';
import { createUsage } from '../../../gate/authz/usage.ts';
import { createUsageWriter } from '../../../gate/authz/usage-writer.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { fakeClock } from '../../support/clock.ts';
import { recordingLog } from '../../support/log.ts';
import { never, scriptedStore } from './scripted-store.ts';

/** A writer on a stopped clock. `flush` is the store's answer to each batch, which is recorded with its time. */
function rig(t: Test, { flush, close }: { flush: () => Promise<boolean>; close?: GateSession['close'] }) {
  const clock = fakeClock();
  const trouble = recordingLog();
  const slots = createKeySlots();
  const usage = createUsage(newId(), slots);
  const key = newId();
  const batches: { at: number; number: number; rows: number; allowed: number | undefined }[] = [];
  const closed: string[] = [];
  const calls = { failures: 0, closed: 0 };
  const { store, connections } = scriptedStore({
    flush(_, number, { days, allowed }) {
      batches.push({ at: clock.monotonic(), number, rows: days.length, allowed: allowed[0] });
      return flush();
    },
    close(incarnation) {
      closed.push(incarnation);
      return close?.(incarnation) ?? Promise.resolve(0);
    },
  });
  const writer = createUsageWriter({
    store,
    usage,
    clock,
    log: trouble.log,
    onFailure: () => calls.failures++,
    onClosed: () => calls.closed++,
  });
  t.teardown(async () => {
    const stopped = writer.stop();
    await clock.advance(20_000);
    await stopped;
  });
  const count = (counted = key) => usage.countAllowed(slots.slotOf(counted), usage.calendar(clock.now().getTime()));
  return {
    clock,
    usage,
    writer,
    batches,
    closed,
    calls,
    connections,
    count,
    get entries() {
      return trouble.entries.map(({ level, msg, failures }) => ({ level, msg, failures }));
    },
    times: () => batches.map(({ at }) => at),
  };
}

const [debug, info, warn] = [20, 30, 40];
const written = () => Promise.resolve(true);

t.test('usage is written every second while there is any', async (t) => {
  const gate = rig(t, {
    flush() {
      // Counted while a batch is written.
      if (gate.batches.length === 1) gate.count();
      return written();
    },
  });
  gate.writer.start();
  await gate.clock.advance(2_500);
  t.equal(gate.connections.opened, 0, 'nothing to write');
  gate.count();
  await gate.clock.advance(499);
  t.same(gate.times(), []);
  await gate.clock.advance(1);
  t.same(gate.times(), [3_000]);
  await gate.clock.advance(10_000);
  t.same(gate.batches, [
    { at: 3_000, number: 1, rows: 1, allowed: 1 },
    { at: 4_000, number: 2, rows: 1, allowed: 2 },
  ]);
  t.same(gate.connections, { opened: 1, ended: 0 });
  t.same(gate.entries, []);
  t.same(gate.calls, { failures: 0, closed: 0 });
});

t.test('a batch has at most 1,000 rows, and what is counted meanwhile is left to the next second', async (t) => {
  const keys = Array.from({ length: 2_001 }, newId);
  const gate = rig(t, {
    flush() {
      if (gate.batches.length <= 3) for (const key of keys) gate.count(key);
      return written();
    },
  });
  for (const key of keys) gate.count(key);
  gate.writer.start();
  await gate.clock.advance(1_000);
  t.same(
    gate.batches.map(({ at, rows }) => [at, rows]),
    [
      [1_000, 1_000],
      [1_000, 1_000],
      [1_000, 1],
    ],
  );
});

t.test('a failed write is repeated after 2, 4 and then 5 seconds on a new connection', async (t) => {
  let failing = true;
  const gate = rig(t, { flush: () => (failing ? Promise.reject(new Error('down')) : written()) });
  gate.count();
  gate.writer.start();
  await gate.clock.advance(12_000);
  gate.count();
  failing = false;
  await gate.clock.advance(5_000);
  t.same(gate.times(), [1_000, 3_000, 7_000, 12_000, 17_000]);
  t.same([...new Set(gate.batches.map(({ number, allowed }) => `${number}: ${allowed}`))], ['1: 1'], 'unchanged');
  t.same(gate.connections, { opened: 5, ended: 4 });
  t.same(gate.calls, { failures: 4, closed: 0 });
  const again = { level: debug, msg: 'usage could not be written again', failures: undefined };
  t.same(gate.entries, [
    { level: warn, msg: 'usage could not be written', failures: undefined },
    again,
    again,
    again,
    { level: info, msg: 'usage writes recovered', failures: 4 },
  ]);
  await gate.clock.advance(1_000);
  t.match(gate.batches.at(-1), { at: 18_000, number: 2, allowed: 2 }, 'every second again');
});

t.test('a write that takes ten seconds has failed', async (t) => {
  const answers = [never, written()];
  const gate = rig(t, { flush: () => answers.shift() ?? written() });
  gate.count();
  gate.writer.start();
  await gate.clock.advance(10_999);
  t.equal(gate.calls.failures, 0);
  await gate.clock.advance(1);
  t.equal(gate.calls.failures, 1);
  await gate.clock.advance(2_000);
  t.same(gate.times(), [1_000, 13_000]);
  t.notOk(gate.usage.pending());
  t.match(gate.entries.at(-1), { msg: 'usage writes recovered', failures: 1 });
});

t.test('a closed process life is reported until the feed has renewed it', async (t) => {
  const gate = rig(t, { flush: () => Promise.resolve(gate.usage.incarnation() === renewed) });
  const renewed = newId();
  gate.count();
  gate.writer.start();
  await gate.clock.advance(2_000);
  t.same(gate.calls, { failures: 0, closed: 2 });
  t.ok(gate.usage.pending());
  gate.usage.renew(renewed, 0, gate.usage.calendar(gate.clock.now().getTime()));
  await gate.clock.advance(1_000);
  t.same(gate.calls, { failures: 0, closed: 2 });
  t.notOk(gate.usage.pending());
  t.same(gate.entries, []);
});

t.test('stopping writes what is left and closes the process life', async (t) => {
  const gate = rig(t, {
    flush() {
      if (gate.batches.length === 1) gate.count();
      return written();
    },
  });
  await gate.writer.stop();
  t.equal(gate.connections.opened, 0, 'never started');
  gate.writer.start();
  gate.writer.start();
  gate.count();
  await gate.writer.stop();
  t.same(
    gate.batches.map(({ at, allowed }) => [at, allowed]),
    [
      [0, 1],
      [0, 2],
    ],
  );
  t.same(gate.closed, [gate.usage.incarnation()]);
  t.same(gate.connections, { opened: 1, ended: 1 });
  t.equal(gate.clock.sleepers(), 0);
  t.same(gate.entries, []);
});

t.test('stopping gives up after five seconds', async (t) => {
  const hang = { flush: () => never };
  const slow = { flush: written, close: () => never };
  for (const [name, answers] of Object.entries({ hang, slow })) {
    const gate = rig(t, answers);
    gate.count();
    gate.writer.start();
    let ended = false;
    const stopped = gate.writer.stop().then(() => (ended = true));
    await gate.clock.advance(4_999);
    t.notOk(ended, name);
    await gate.clock.advance(1);
    await stopped;
    t.same(gate.calls, { failures: 1, closed: 0 }, name);
    t.match(gate.entries, [{ level: warn, msg: 'the last usage could not be written' }]);
    t.same(gate.connections, { opened: 1, ended: 1 });
    t.equal(gate.clock.sleepers(), 0);
  }
});
