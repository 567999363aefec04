import t from 'tap';
import { createFeed, type Feed } from '../../../gate/authz/feed.ts';
import type { GateStore, KeyRow, PlanRow } from '../../../gate/authz/gate-store.ts';
import { createUsageWriter, type UsageWriter } from '../../../gate/authz/usage-writer.ts';
import type { Usage } from '../../../gate/authz/usage.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { generateApiKey } from '../../../runtime/domain/api-key.ts';
import { newId, type Id } from '../../../runtime/domain/ids.ts';
import { periods } from '../../../runtime/domain/period.ts';
import { seededRandom, type Random } from '../../support/random.ts';
import { silentLog } from '../../support/log.ts';
import { soakFactor } from '../../support/soak.ts';
import { app, bench, environmentId, keyRow, request } from './records.ts';
import { simulatedClock, type SimulatedClock } from './simulated-clock.ts';
import { storeModel, type Link, type StoreModel } from './store-model.ts';

const ceilingMs = 90_000;
/** How much two healthy replicas may allow beyond a quota, as traffic of this time: a flush, a poll, and messages. */
const overlapMs = 4_000;
/** The maximum age of the other replica's usage that a cut-off replica uses; after that it is closed. */
const outageOverlapMs = ceilingMs + overlapMs;
/**
 * This long after its last trouble a replica has settled: time-outs and back-off have ended, and a flush has finished.
 */
const settledMs = 25_000;

interface Replica {
  name: string;
  feed: Feed;
  writer: UsageWriter;
  usage: Usage;
  check: ReturnType<typeof bench>['check'];
  link: Link;
  /** Moves its wall clock away from the others'. */
  clock: SimulatedClock;
  dead: boolean;
  /** When its last trouble with the store ended; Infinity while there is any. */
  troubledUntil: number;
  troubledSince: number;
  /** When its wall clock last jumped. */
  jumped: number;
  /** When the last head request that was answered was sent. */
  proven: number;
}

/** One counted verdict. */
interface Count {
  at: number;
  replica: Replica;
  day: string;
  decision: 'allow' | 'deny_rate' | 'deny_quota';
}

interface Consumer {
  id: Id;
  key: string;
  row: KeyRow;
  /** Since when the key is invalid in the store; undefined while it is valid. */
  closedSince: number | undefined;
  counts: Count[];
  /** Counts that may be missing in the store, because a process was killed or the store was replaced. */
  excused: number;
}

/** Two replicas, a store and a clock under random events, and the invariants that must always hold. */
function world(random: Random, { jumps, failovers }: { jumps: boolean; failovers: boolean }) {
  const clock = simulatedClock(Date.parse('2026-01-28T23:50:00Z'));
  const store: StoreModel = storeModel(clock);
  const consumers: Consumer[] = [];
  const plans: PlanRow[] = [];
  const replicas: Replica[] = [];
  let copies: { at: number; state: ReturnType<StoreModel['copy']> }[] = [];
  let jumped = false;
  let failedOver = -Infinity;
  let allows = 0;

  const observed = (inner: GateStore, replica: () => Replica): GateStore => ({
    async connect(nudge) {
      const session = await inner.connect(nudge);
      return {
        ...session,
        async head(since, incarnation) {
          const sent = clock.monotonic();
          const answer = await session.head(since, incarnation);
          replica().proven = sent;
          return answer;
        },
      };
    },
  });

  const start = (name: string): Replica => {
    const { link, store: way } = store.link({ deaf: random.chance(0.3) });
    link.latency = random.between(1, 120);
    const own = clock.fork();
    const gate = bench();
    const current = (): Replica => replica;
    const dependencies = { store: observed(way, current), usage: gate.usage, clock: own as Clock, log: silentLog };
    const feed = createFeed({ ...dependencies, view: gate.view, rates: gate.rates, name });
    const writer = createUsageWriter({ ...dependencies, onClosed: () => feed.nudge() });
    const replica: Replica = {
      name,
      feed,
      writer,
      link,
      clock: own,
      usage: gate.usage,
      check: gate.check,
      dead: false,
      troubledUntil: clock.monotonic(),
      troubledSince: clock.monotonic(),
      jumped: -Infinity,
      proven: -Infinity,
    };
    feed.start();
    writer.start();
    replicas.push(replica);
    return replica;
  };

  const alive = () => replicas.filter(({ dead }) => !dead);
  const settled = (replica: Replica) => clock.monotonic() - replica.troubledUntil > settledMs;
  const newPlan = (id: Id): PlanRow => {
    const period = random.chance(0.7) ? random.pick(periods) : null;
    const quotaLimit = period ? random.between(5, 400) : null;
    return {
      id,
      requestsPerSecond: random.between(1, 200),
      burst: random.between(1, 200),
      quotaLimit,
      quotaPeriod: period,
    };
  };
  const put = (consumer: Consumer, change: Partial<KeyRow>) => {
    consumer.row = { ...consumer.row, ...change };
    store.putKey(consumer.row);
    recheck();
  };

  /** Records since when each key has been invalid, after the store changed. */
  const recheck = () => {
    for (const consumer of consumers) {
      const row = store.state.keys.get(consumer.id);
      if (row?.enabled) consumer.closedSince = undefined;
      else consumer.closedSince ??= clock.monotonic();
    }
  };

  const newConsumer = () => {
    const issued = generateApiKey();
    const row = keyRow({ planId: random.pick(plans).id }, issued);
    consumers.push({ id: row.id, key: issued.key, row, closedSince: undefined, counts: [], excused: 0 });
    store.putKey(row);
  };

  /** Asks for a number of verdicts, and checks each of them. */
  const ask = (replica: Replica, consumer: Consumer, times: number) => {
    const now = clock.monotonic();
    for (let turn = 0; turn < times; turn++) {
      const moment = { monotonic: now, wall: replica.clock.now().getTime() };
      const verdict = replica.check(request({ apiKey: consumer.key }), moment);
      const { decision } = verdict;
      if (decision !== 'allow' && decision !== 'deny_rate' && decision !== 'deny_quota') continue;
      if (now - replica.proven >= ceilingMs) throw new Error(`${decision} from a view that is not fresh`);
      const { day } = verdict.limits.calendar;
      const slip = Date.parse(day) - moment.wall;
      if (slip > 60_000 && settled(replica) && now - replica.jumped > 5_000)
        throw new Error(`counted for ${day} already`);
      if (decision === 'allow') {
        allows++;
        if (consumer.closedSince !== undefined && now - consumer.closedSince > ceilingMs) {
          throw new Error(`an allow for a key closed ${now - consumer.closedSince} ms ago`);
        }
        checkQuota(replica, consumer, verdict);
      }
      consumer.counts.push({ at: now, replica, day, decision });
    }
  };

  /** A quota admits too much by at most the counts that the last flushes and polls did not transfer. */
  const checkQuota = (
    replica: Replica,
    consumer: Consumer,
    { key, limits }: Extract<ReturnType<Replica['check']>, { decision: 'allow' }>,
  ) => {
    const { quota } = key.terms.plan;
    // Clocks that disagree put the same request into different periods.
    if (!quota || jumped) return;
    const now = clock.monotonic();
    const lastContact = settled(replica) ? now : now - outageOverlapMs;
    const knownUntil = (by: Replica) => (by.dead || settled(by) ? now : by.troubledSince) - overlapMs;
    const [start, end] = [limits.calendar.start[quota.period], limits.calendar.end[quota.period]];
    const counts = consumer.counts.filter(
      ({ at, day, decision, replica: by }) =>
        decision === 'allow' &&
        Date.parse(day) >= start &&
        Date.parse(day) < end &&
        (by === replica || at < Math.min(lastContact, knownUntil(by))),
    );
    if (counts.length - consumer.excused >= quota.limit) {
      throw new Error(
        `${counts.length + 1} allowed of ${quota.limit} in a ${quota.period}, ${consumer.excused} excused`,
      );
    }
  };

  const sums = (consumer: Consumer) => {
    const total = { allowed: 0, rateDenied: 0, quotaDenied: 0 };
    for (const row of store.state.usage.values()) {
      if (row.keyId !== consumer.id) continue;
      total.allowed += row.allowed;
      total.rateDenied += row.rateDenied;
      total.quotaDenied += row.quotaDenied;
    }
    return total;
  };
  const counted = (consumer: Consumer, decision: Count['decision']) =>
    consumer.counts.filter((count) => count.decision === decision).length;

  /** The store never has more counts than verdicts; in the end, only excused counts are missing. */
  const checkSums = (complete = false) => {
    for (const consumer of consumers) {
      if (!store.state.keys.has(consumer.id)) continue;
      const { allowed, rateDenied, quotaDenied } = sums(consumer);
      const decided = [counted(consumer, 'allow'), counted(consumer, 'deny_rate'), counted(consumer, 'deny_quota')];
      [allowed, rateDenied, quotaDenied].forEach((sum, index) => {
        const verdicts = decided[index] ?? 0;
        if (sum > verdicts) throw new Error(`${sum} counted of ${verdicts} verdicts (${index})`);
        if (complete && sum < verdicts - consumer.excused) {
          throw new Error(`${sum} counted of ${verdicts} verdicts (${index}), with ${consumer.excused} excused`);
        }
      });
    }
  };

  /** A key's counts in the store, of every kind, except those that a living replica will write again. */
  const held = (consumer: Consumer) => {
    const rewritten = new Set(
      alive()
        .filter(settled)
        .map(({ usage, clock: own }) => `${usage.calendar(own.now().getTime()).day} ${usage.incarnation()}`),
    );
    let total = 0;
    for (const { keyId, day, incarnation, allowed, rateDenied, quotaDenied } of store.state.usage.values()) {
      if (keyId === consumer.id && !rewritten.has(`${day} ${incarnation}`)) total += allowed + rateDenied + quotaDenied;
    }
    return total;
  };

  /**
   * The counts that a killed process may lose: a flush interval, a message, and the length of its trouble with the
   * store.
   */
  const lossBegins = (replica: Replica) => {
    const since = clock.monotonic() - 1_000 - 4 * replica.link.latency;
    return settled(replica) ? since : Math.min(since, replica.troubledSince - 1_000 - 4 * replica.link.latency);
  };

  const bury = (replica: Replica) => {
    replica.dead = true;
    replica.link.hanging = true;
    replica.link.cut();
    replica.clock.stop();
  };

  const trouble = (replica: Replica, on: boolean) => {
    const now = clock.monotonic();
    if (replica.troubledUntil !== Infinity && now - replica.troubledUntil > settledMs) replica.troubledSince = now;
    replica.troubledUntil = on ? Infinity : now;
  };

  const actions: Record<string, () => Promise<void> | void> = {
    traffic: () => ask(random.pick(alive()), random.pick(consumers), random.between(1, 40)),
    create: () => {
      if (consumers.length < 12) newConsumer();
    },
    revoke: () => {
      const consumer = random.pick(consumers);
      if (!store.state.keys.has(consumer.id)) return;
      if (random.chance(0.5)) put(consumer, { enabled: false });
      else store.deleteKey(consumer.id);
      recheck();
    },
    enable: () => {
      const consumer = random.pick(consumers);
      if (store.state.keys.has(consumer.id)) put(consumer, { enabled: true });
    },
    'change a plan': () => {
      const index = random.between(0, plans.length - 1);
      const changed = newPlan(plans[index]?.id ?? newId());
      plans[index] = changed;
      store.putPlan(changed);
    },
    'move a key': () => {
      const consumer = random.pick(consumers);
      if (store.state.keys.has(consumer.id)) put(consumer, { planId: random.pick(plans).id });
    },
    hang: () => {
      const replica = random.pick(alive());
      replica.link.hanging = true;
      trouble(replica, true);
    },
    cut: () => {
      const replica = random.pick(alive());
      const { troubledUntil } = replica;
      replica.link.cut();
      trouble(replica, troubledUntil === Infinity);
    },
    heal: () => {
      const replica = random.pick(alive());
      replica.link.hanging = false;
      trouble(replica, false);
    },
    kill: () => {
      const replica = random.pick(alive());
      const begins = lossBegins(replica);
      for (const consumer of consumers) {
        consumer.excused += consumer.counts.filter(({ at, replica: by }) => by === replica && at >= begins).length;
      }
      bury(replica);
      start(replica.name);
    },
    restart: async () => {
      const replica = random.pick(alive());
      if (!settled(replica)) return;
      const ended = new AbortController();
      const stopped = replica.feed
        .stop()
        .then(() => replica.writer.stop())
        .then(() => ended.abort());
      while (!ended.signal.aborted) await clock.advance(50);
      await stopped;
      bury(replica);
      start(replica.name);
    },
    housekeeping: () => {
      // Counts that a replica wrote before a failover are lost if it is closed before it can write them again.
      if (clock.monotonic() - failedOver > 700_000) store.housekeep(600_000);
    },
    'close a replica that lives': async () => {
      const replica = random.pick(alive());
      const inTheMiddle = random.between(990, 1_400);
      ask(replica, random.pick(consumers), 5);
      await clock.advance(inTheMiddle);
      replica.link.hanging = true;
      trouble(replica, true);
      await clock.advance(700_000);
      if (clock.monotonic() - failedOver > 1_400_000) store.housekeep(600_000);
      replica.link.hanging = false;
      replica.link.cut();
      trouble(replica, false);
    },
    copy: () => {
      copies = [...copies.slice(-3), { at: clock.monotonic(), state: store.copy() }];
    },
    failover: () => {
      const copy = random.pick(copies);
      if (!failovers || !copy) return;
      // The usage of a deleted key was deleted with it; if the copy has the key, its usage begins at zero.
      const before = new Map(
        consumers.map((each) => [each, store.state.keys.has(each.id) ? held(each) : each.counts.length]),
      );
      store.restore(copy.state);
      for (const consumer of consumers) {
        consumer.excused += Math.max(0, (before.get(consumer) ?? 0) - held(consumer));
        const row = store.state.keys.get(consumer.id);
        if (row) consumer.row = row;
      }
      plans.splice(0, Infinity, ...store.state.plans.values());
      for (const replica of alive()) {
        replica.link.cut();
        trouble(replica, replica.troubledUntil === Infinity);
      }
      failedOver = clock.monotonic();
      recheck();
    },
    'jump the wall clock': () => {
      if (!jumps) return;
      jumped = true;
      const size = random.pick([500, 30_000, 3_600_000, 86_400_000, 40 * 86_400_000]);
      const replica = random.pick(alive());
      replica.clock.jump(random.chance(0.5) ? size : -size);
      replica.jumped = clock.monotonic();
    },
    'a long time': async () => {
      for (let round = random.between(1, 12); round > 0; round--) {
        await clock.advance(10_000);
        ask(random.pick(alive()), random.pick(consumers), 3);
      }
    },
    'a very long time': () => clock.advance(random.pick([130_000, 700_000])),
  };
  const weights: Record<string, number> = {
    traffic: 60,
    create: 3,
    revoke: 2,
    enable: 4,
    'change a plan': 2,
    'move a key': 2,
    hang: 2,
    cut: 2,
    heal: 5,
    kill: 1,
    restart: 1,
    housekeeping: 2,
    copy: 2,
    failover: 0.5,
    'jump the wall clock': 0.7,
    'a long time': 1,
    'a very long time': 0.3,
    'close a replica that lives': 0.7,
  };

  return {
    async run(steps: number) {
      for (const id of [newId(), newId(), newId()]) {
        const plan = newPlan(id);
        plans.push(plan);
        store.putPlan(plan);
      }
      store.putApp({ ...app, environmentId });
      for (let index = 0; index < 5; index++) newConsumer();
      store.housekeep(600_000);
      copies.push({ at: 0, state: store.copy() });
      start('a');
      start('b');
      const did: string[] = [];
      try {
        for (let step = 0; step < steps; step++) {
          const name = random.weighted(weights);
          did.push(`${Math.round(clock.monotonic())} ${name}`);
          await actions[name]?.();
          await clock.advance(random.pick([0, 1, 20, 300, 1_000, 3_000]));
          checkSums();
        }
        for (const replica of alive()) {
          replica.link.hanging = false;
          replica.link.cut();
          trouble(replica, false);
        }
        await clock.advance(60_000);
        did.push(`${Math.round(clock.monotonic())} the end`);
        checkSums(true);
        const now = { monotonic: clock.monotonic() };
        for (const replica of alive()) {
          const open = replica.check(request({ apiKey: 'none' }), { ...now, wall: replica.clock.now().getTime() });
          if (open.decision !== 'deny_key') throw new Error(`${open.decision} long after the last trouble`);
        }
      } catch (error) {
        throw new Error(`${(error as Error).message}\nafter ${did.slice(-40).join(', ')}`, { cause: error });
      } finally {
        for (const replica of alive()) bury(replica);
      }
      return { allows };
    },
  };
}

/** `GATE_SEEDS` repeats some of them. */
const seeds =
  process.env['GATE_SEEDS']?.split(',').map(Number) ??
  Array.from({ length: Math.floor(17 * soakFactor()) }, (_, index) => index + 1);

t.setTimeout(900_000 * soakFactor());
t.test('two replicas, a store and a clock keep every invariant under random events', async (t) => {
  for (const seed of seeds) {
    const kind = { jumps: seed % 3 === 0, failovers: seed % 2 === 0 };
    try {
      const { allows } = await world(seededRandom(seed), kind).run(400);
      t.ok(allows > 100, `seed ${seed}: ${allows} allowed`);
    } catch (error) {
      t.fail(`seed ${seed}: ${(error as Error).message}`);
    }
  }
});
