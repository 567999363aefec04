import t, { type Test } from 'tap';
import { createFeed, type Feed } from '../../../gate/authz/feed.ts';
import type {
  ChangesQuestion,
  GateSession,
  ReplicaState,
  UsageQuestion,
  ViewPosition,
} from '../../../gate/authz/gate-store.ts';
import { newId, type Id } from '../../../runtime/domain/ids.ts';
import { fakeClock } from '../../support/clock.ts';
import { recordingLog } from '../../support/log.ts';
import { app, bench, changeOf, keyRow, planRow, position, request } from './records.ts';
import { never, scriptedStore } from './scripted-store.ts';

/** The version after `position`, of the feed or of usage. */
function next(position: ViewPosition, history: 'feed' | 'usage'): ViewPosition {
  const after = { version: position[history].version + 1, token: newId() };
  return { ...position, [history]: { ...position[history], ...after } };
}

/**
 * A feed on a stopped clock, whose store holds one key and answers at once. A test replaces its answers, and moves it to
 * a later position.
 */
function rig(t: Test) {
  const clock = fakeClock(new Date('2026-03-02T12:00:00Z'));
  const { view, usage, rates, check, slots } = bench();
  const trouble = recordingLog();
  const calls: { at: number; call: string }[] = [];
  const outcomes: string[] = [];
  let firstLoads = 0;
  const questions: ChangesQuestion[] = [];
  const loads: UsageQuestion[] = [];
  const key = keyRow();
  const state = {
    position: position(1),
    replica: 'open' as ReplicaState,
    replicas: 1,
    primary: true,
    answers: {} as Partial<GateSession>,
  };
  const load: GateSession['load'] = async (_, sink) => {
    sink.plans([planRow({ burst: 1000 })]);
    sink.apps([app]);
    sink.keys([key]);
    return { primary: true, position: state.position };
  };
  const record = (call: string) => calls.push({ at: clock.monotonic(), call });
  const { store, connections } = scriptedStore({
    head(since, incarnation) {
      record('head');
      const { primary, position, replica, replicas } = state;
      const tokensThere = { feed: since?.feed.token ?? null, usage: since?.usage.token ?? null };
      const head = { primary, position, replica, replicas, tokensThere };
      return state.answers.head?.(since, incarnation) ?? Promise.resolve(head);
    },
    load(question, sink) {
      record('load');
      loads.push(question);
      return (state.answers.load ?? load)(question, sink);
    },
    changes(question, sink) {
      record('changes');
      questions.push(question);
      const { allUsage } = question;
      return (
        state.answers.changes?.(question, sink) ?? Promise.resolve(changeOf({ position: state.position, allUsage }))
      );
    },
    register(incarnation, name) {
      record(`register ${incarnation === usage.incarnation()} ${name}`);
      state.replica = 'open';
      return Promise.resolve();
    },
    report(incarnation, feed, sharesRates) {
      record(`report ${feed.version}${sharesRates ? '' : ' local rates'}`);
      return state.answers.report?.(incarnation, feed, sharesRates) ?? Promise.resolve();
    },
    close() {
      record('close');
      return Promise.resolve(0);
    },
  });
  let nudge: (() => void) | undefined;
  const feed: Feed = createFeed({
    store: {
      connect(notify) {
        nudge = notify;
        return store.connect();
      },
    },
    view,
    usage,
    rates,
    onFirstLoad: () => firstLoads++,
    name: 'svc-authz-1',
    clock,
    log: trouble.log,
    observe: (outcome) => outcomes.push(outcome),
  });
  t.teardown(() => feed.stop());
  return {
    clock,
    view,
    usage,
    rates,
    feed,
    key,
    state,
    connections,
    questions,
    loads,
    outcomes,
    firstLoads: () => firstLoads,
    /** Notifies the feed, as the store does. */
    notify: () => nudge?.(),
    /** The times of the calls since the last question, of one kind or of all. */
    calls: () => calls.splice(0).map(({ at, call }) => `${at} ${call}`),
    times: (name: string) =>
      calls
        .splice(0)
        .filter(({ call }) => call.startsWith(name))
        .map(({ at }) => at),
    entries: () => trouble.entries.map(({ level, msg, failures }) => ({ level, msg, failures })),
    decision: () => check(request(), { monotonic: clock.monotonic(), wall: clock.now().getTime() }).decision,
    count(id: Id, times: number) {
      for (let turn = 0; turn < times; turn++)
        usage.countAllowed(slots.slotOf(id), usage.calendar(clock.now().getTime()));
    },
    allowed: (id: Id) => usage.allowed(slots.slotOf(id), 'month', usage.calendar(clock.now().getTime())),
  };
}

const [debug, info, warn, error] = [20, 30, 40, 50];

t.test('a feed polls every second, and reports changes at once and its life every five seconds', async (t) => {
  const gate = rig(t);
  gate.feed.start();
  gate.feed.start();
  await gate.clock.advance(0);
  t.same(gate.calls(), ['0 head', '0 load', '0 report 1']);
  await gate.clock.advance(10_000);
  const calls = gate.calls();
  t.same(calls.filter((call) => call.endsWith('head')).length, 10);
  t.same(
    calls.filter((call) => !call.endsWith('head')),
    ['5000 report 1', '10000 report 1'],
  );
  gate.state.position = next(gate.state.position, 'feed');
  await gate.clock.advance(1_000);
  t.same(gate.calls(), ['11000 head', '11000 changes', '11000 report 2'], 'a new version');
  gate.state.position = next(gate.state.position, 'usage');
  await gate.clock.advance(1_000);
  t.same(gate.calls(), ['12000 head', '12000 changes'], 'new usage');
  await gate.clock.advance(4_000);
  t.same(gate.times('report'), [16_000]);
  t.same(gate.outcomes, [
    'loaded',
    ...Array<string>(10).fill('unchanged'),
    'applied',
    'applied',
    ...Array<string>(4).fill('unchanged'),
  ]);
  t.same(gate.connections, { opened: 1, ended: 0 });
  t.match(gate.entries(), [{ level: info, msg: 'gate view loaded' }]);
  t.equal(gate.entries().length, 1);
});

t.test('a notification ends the wait, also one that comes during a poll', async (t) => {
  const gate = rig(t);
  gate.feed.start();
  await gate.clock.advance(300);
  gate.notify();
  await gate.clock.advance(0);
  t.same(gate.times('head'), [0, 300]);
  await gate.clock.advance(999);
  t.same(gate.times('head'), []);
  gate.state.answers.head = () => {
    delete gate.state.answers.head;
    gate.notify();
    return Promise.reject(new Error('lost'));
  };
  await gate.clock.advance(1);
  t.same(gate.times('head'), [1_300], 'a lost connection notifies too, which repeats nothing at once');
  await gate.clock.advance(250);
  t.equal(gate.times('head').length, 1);
  gate.state.answers.report = () => {
    gate.notify();
    return Promise.resolve();
  };
  gate.state.position = next(gate.state.position, 'feed');
  await gate.clock.advance(1_000);
  delete gate.state.answers.report;
  const times = gate.times('head');
  t.equal(times.length, 2);
  t.equal(times[0], times[1]);
});

t.test(
  'a failed poll is repeated after up to 0.25, 0.5, 1, 2, 4 and then 5 seconds, on a new connection',
  async (t) => {
    const attempts = async (random: number) => {
      const gate = rig(t);
      const restore = t.capture(Math, 'random', () => random);
      gate.state.answers.head = () => Promise.reject(new Error('down'));
      gate.feed.start();
      await gate.clock.advance(20_000);
      restore.restore();
      return { gate, times: gate.times('head') };
    };
    const { gate, times } = await attempts(1);
    t.same(times, [0, 250, 750, 1_750, 3_750, 7_750, 12_750, 17_750]);
    t.same(gate.connections, { opened: 8, ended: 8 });
    t.same((await attempts(0)).times.slice(0, 8), [0, 125, 375, 875, 1_875, 3_875, 6_375, 8_875], 'or half of that');

    delete gate.state.answers.head;
    await gate.clock.advance(5_000);
    t.match(gate.outcomes, [...Array<string>(8).fill('failed'), 'loaded', 'unchanged']);
    const failed = { level: warn, msg: 'feed failed', failures: undefined };
    const again = { level: debug, msg: 'feed failed again', failures: undefined };
    const loaded = { level: info, msg: 'gate view loaded', failures: undefined };
    t.same(gate.entries(), [
      failed,
      ...Array.from({ length: 7 }, () => again),
      loaded,
      { level: info, msg: 'feed recovered', failures: 8 },
    ]);

    gate.state.answers.head = () => {
      delete gate.state.answers.head;
      return Promise.reject(new Error('down'));
    };
    await gate.clock.advance(2_000);
    t.same(gate.entries().slice(10), [failed, { level: info, msg: 'feed recovered', failures: 1 }], 'a new failure');
  },
);

t.test('a poll and a report may take five seconds, a load and a reading of changes sixty', async (t) => {
  const hang = () => never;
  const table = { head: 5_000, report: 5_000, load: 60_000, changes: 60_000 };
  for (const [call, ms] of Object.entries(table)) {
    const gate = rig(t);
    if (call === 'changes') {
      gate.feed.start();
      await gate.clock.advance(0);
      await gate.clock.advance(999);
      gate.state.position = next(gate.state.position, 'feed');
      gate.state.answers.changes = hang;
      await gate.clock.advance(1);
    } else {
      gate.state.answers = { [call]: hang };
      gate.feed.start();
    }
    gate.outcomes.length = 0;
    await gate.clock.advance(ms - 1);
    t.same(gate.outcomes, [], call);
    await gate.clock.advance(1);
    t.same(gate.outcomes, ['failed'], call);
  }
});

t.test('freshness counts from the moment before a poll', async (t) => {
  const gate = rig(t);
  const answer = Promise.withResolvers<void>();
  gate.state.answers.report = () => answer.promise;
  gate.feed.start();
  await gate.clock.advance(2_000);
  t.equal(gate.view.ageMs(2_000), 2_000);
  answer.resolve();
  await gate.clock.advance(0);
  await gate.clock.advance(1_000);
  t.equal(gate.view.ageMs(3_000), 0);
});

t.test(
  'a replica that the store does not know is registered, and usage is written again after a failover',
  async (t) => {
    const gate = rig(t);
    gate.state.replica = 'missing';
    gate.state.replicas = 1;
    gate.feed.start();
    await gate.clock.advance(0);
    t.same(
      gate.calls(),
      ['0 head', '0 register true svc-authz-1', '0 load', '0 report 1 local rates'],
      'with the other, it is one of two replicas, and shares no rates yet',
    );
    gate.state.replicas = 2;
    gate.rates.connected(true);
    await gate.clock.advance(1_000);
    t.same(gate.calls(), ['1000 head', '1000 report 1'], 'reported at once');
    gate.count(gate.key.id, 2);
    const batch = gate.usage.batch(10);
    if (batch) gate.usage.written(batch);
    await gate.clock.advance(1_000);
    t.notOk(gate.usage.pending());
    gate.state.position = { ...gate.state.position, usage: { version: 1, token: 'another' } };
    gate.state.answers.head = () => {
      delete gate.state.answers.head;
      const { primary, position, replica } = gate.state;
      return Promise.resolve({
        primary,
        replica,
        replicas: 1,
        position,
        tokensThere: { feed: position.feed.token, usage: 'another' },
      });
    };
    gate.calls();
    await gate.clock.advance(1_000);
    t.same(gate.calls(), ['3000 head', '3000 changes']);
    t.ok(gate.usage.pending(), 'the usage of the copy was replaced');
  },
);

t.test('a closed replica continues under a new incarnation', async (t) => {
  const gate = rig(t);
  gate.feed.start();
  await gate.clock.advance(0);
  gate.calls();
  const first = gate.usage.incarnation();
  gate.count(gate.key.id, 2);
  gate.state.replica = 'closed';
  await gate.clock.advance(1_000);
  t.same(gate.calls(), ['1000 head', '1000 close', '1000 load', '1000 register true svc-authz-1', '1000 report 1']);
  t.not(gate.usage.incarnation(), first);
  t.match(
    gate.loads.map(({ incarnation }) => incarnation),
    [first, gate.usage.incarnation()],
    'the counts of the previous one are now those of another',
  );
  t.equal(gate.allowed(gate.key.id), 2);
  t.match(gate.entries().at(-1), { level: warn, msg: 'usage continues under a new incarnation' });
  gate.clock.jump(-40 * 86_400_000);
  await gate.clock.advance(1_000);
  t.match(gate.calls(), ['2000 head', '2000 close', '2000 load'], 'the wall clock went back');
  t.equal(gate.usage.calendar(gate.clock.now().getTime()).day, '2026-01-21');
  t.equal(gate.usage.othersCalendar()?.day, '2026-01-21');
});

t.test('a record that is locked for long keeps no replica from proving that it is fresh', async (t) => {
  const gate = rig(t);
  gate.feed.start();
  await gate.clock.advance(0);
  // The replica's own usage is being written, and waits for a writer that hangs.
  gate.state.answers.report = () => never;
  const decisions = new Set<string>();
  for (let second = 0; second < 300; second++) {
    await gate.clock.advance(1_000);
    decisions.add(gate.decision());
  }
  t.same([...decisions], ['allow']);
  t.ok(gate.outcomes.includes('failed'));
  gate.state.position = next(gate.state.position, 'feed');
  gate.state.answers.changes = () =>
    Promise.resolve(changeOf({ position: gate.state.position, gone: { plans: [], keys: [gate.key.id], apps: [] } }));
  await gate.clock.advance(15_000);
  t.equal(gate.decision(), 'deny_key', 'a key that was revoked');
});

t.test('changes that do not fit, or cannot be determined, lead to a load', async (t) => {
  const gate = rig(t);
  gate.feed.start();
  await gate.clock.advance(0);
  gate.calls();
  gate.state.answers.changes = () => Promise.resolve(changeOf({ keys: [keyRow({ planId: newId() })] }));
  gate.state.position = next(gate.state.position, 'feed');
  await gate.clock.advance(1_000);
  t.same(gate.calls(), ['1000 head', '1000 changes', '1000 load', '1000 report 2']);
  t.match(gate.entries()[1], { level: error, msg: 'gate view is inconsistent' });
  gate.state.answers.changes = () => Promise.resolve(undefined);
  gate.state.position = next(gate.state.position, 'feed');
  await gate.clock.advance(1_000);
  t.same(gate.calls(), ['2000 head', '2000 changes', '2000 load', '2000 report 3']);
  t.same(gate.outcomes, ['loaded', 'loaded', 'loaded']);
  t.equal(gate.firstLoads(), 1);
  gate.state.position = { ...next(gate.state.position, 'feed'), feed: position(1).feed };
  await gate.clock.advance(1_000);
  t.same(gate.calls(), ['3000 head', '3000 load', '3000 report 1'], 'another history');
  gate.state.answers.changes = () => Promise.resolve(changeOf({ primary: false }));
  gate.state.position = next(gate.state.position, 'feed');
  await gate.clock.advance(1_000);
  t.same(gate.calls(), ['4000 head', '4000 changes']);
  t.equal(gate.outcomes.at(-1), 'failed', 'changes of a standby');
});

t.test('on a new day, the usage of all keys is read, and keys of earlier periods are forgotten', async (t) => {
  const gate = rig(t);
  gate.feed.start();
  await gate.clock.advance(0);
  gate.count(gate.key.id, 1);
  const batch = gate.usage.batch(10);
  if (batch) gate.usage.written(batch);
  gate.state.answers.changes = ({ allUsage }, sink) => {
    sink.others([{ keyId: gate.key.id, allowed: allUsage ? 7 : 9 }]);
    return Promise.resolve(changeOf({ position: gate.state.position, allUsage }));
  };
  gate.state.position = next(gate.state.position, 'usage');
  await gate.clock.advance(1_000);
  t.match(gate.questions, [
    { allUsage: false, incarnation: gate.usage.incarnation(), calendar: { day: '2026-03-02' } },
  ]);
  t.equal(gate.allowed(gate.key.id), 10, 'what the others allowed, and its own');
  gate.clock.jump(86_400_000);
  await gate.clock.advance(1_000);
  t.match(gate.questions[1], { allUsage: true, calendar: { day: '2026-03-03' } });
  t.equal(gate.usage.othersCalendar()?.day, '2026-03-03');
  t.equal(gate.allowed(gate.key.id), 8);
  t.equal(gate.usage.size(), 1);
  gate.clock.jump(40 * 86_400_000);
  await gate.clock.advance(1_000);
  t.equal(gate.questions[2]?.allUsage, true);
  t.equal(gate.usage.size(), 0);
  await gate.clock.advance(1_000);
  t.equal(gate.questions.length, 3, 'once a day');
});

t.test('a feed stops at once, and a stopped one polls no more', async (t) => {
  const gate = rig(t);
  gate.feed.start();
  await gate.clock.advance(0);
  await gate.feed.stop();
  t.equal(gate.clock.sleepers(), 0);
  gate.calls();
  gate.notify();
  await gate.clock.advance(5_000);
  t.same(gate.calls(), []);
  t.same(gate.connections, { opened: 1, ended: 1 });

  const busy = rig(t);
  busy.state.answers.head = () => never;
  busy.feed.start();
  await busy.clock.advance(0);
  await busy.feed.stop();
  t.equal(busy.clock.sleepers(), 0);
  t.same(busy.outcomes, []);
  t.same(busy.entries(), [], 'an end is no failure');
});
