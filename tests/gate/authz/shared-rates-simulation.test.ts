import t from 'tap';
import { createRateExchange } from '../../../gate/authz/rate-exchange.ts';
import type { OpenRateChannel, RateChannelEvents } from '../../../gate/authz/rate-channel.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { seededRandom, type Random } from '../../support/random.ts';
import { silentLog } from '../../support/log.ts';
import { soakFactor, testSeed } from '../../support/soak.ts';
import { createBucket, takeToken } from '../../../gate/authz/rate-limit.ts';
import { bench, keyRow, planRow, request } from './records.ts';
import { simulatedClock, type SimulatedClock } from './simulated-clock.ts';

const stepMs = 5;

/** One order of messages for all replicas, each of which gets them after a delay of its own. */
function messageBus(clock: Clock, random: Random) {
  const listeners = new Map<RateChannelEvents, { arrives: number; cut: boolean }>();
  const deliver = (message: string) => {
    for (const [events, link] of listeners) {
      // Behind the last one, since a connection keeps the order.
      link.arrives = Math.max(link.arrives, clock.monotonic() + random.between(0, 15));
      if (link.cut) continue;
      void clock.sleep(link.arrives - clock.monotonic()).then(() => !link.cut && events.received(message));
    }
  };
  return (connection: { cut: boolean; hanging: boolean }): OpenRateChannel =>
    async (events) => {
      await clock.sleep(random.between(1, 10));
      if (connection.cut) throw new Error('no connection');
      const link = {
        arrives: 0,
        get cut() {
          return connection.cut || connection.hanging;
        },
      };
      listeners.set(events, link);
      return {
        async send(messages) {
          await clock.sleep(random.between(1, 15));
          if (connection.cut) throw new Error('connection lost');
          if (!connection.hanging) messages.forEach(deliver);
        },
        end: () => listeners.delete(events),
      };
    };
}

interface Limit {
  requestsPerSecond: number;
  burst: number;
}

/** Replicas that share one key, whose requests are compared with one bucket for all. */
async function world(random: Random, limit: Limit, count: number) {
  const clock = simulatedClock(Date.parse('2026-01-28T12:00:00Z'));
  const bus = messageBus(clock, random);
  const key = keyRow();
  const replicas = Array.from({ length: count }, () => {
    const own: SimulatedClock = clock.fork();
    const gate = bench({ clock: own });
    gate.load({ plans: [planRow(limit)], keys: [key] }, clock.now().getTime());
    const connection = { cut: false, hanging: false };
    const exchange = createRateExchange({ open: bus(connection), rates: gate.rates, clock: own, log: silentLog });
    gate.rates.counted(count);
    exchange.start();
    return { gate, connection, exchange };
  });
  await clock.advance(1_000);

  /** Tokens that all replicas together took beyond the plan's bucket, with 5 % more than its rate. */
  let taken = 0;
  let refilledAt = clock.monotonic();
  let excess = 0;
  let allowed = 0;
  /** What one bucket for all allows of the same requests. */
  let ideal = 0;
  const bucket = createBucket();
  let owed = 0;
  const ask = (replica: (typeof replicas)[number]) => {
    const moment = { monotonic: clock.monotonic(), wall: clock.now().getTime() };
    replica.gate.view.provenAt(moment.monotonic);
    if (takeToken(bucket, limit, moment.monotonic) === 0) ideal++;
    const { decision } = replica.gate.check(request(), moment);
    if (decision !== 'allow' && decision !== 'deny_rate') throw new Error(decision);
    if (decision === 'deny_rate') return;
    allowed++;
    taken++;
    excess = Math.max(excess, taken - limit.burst);
  };

  return {
    clock,
    replicas,
    /** Sends requests, evenly spaced, to replicas by weight. */
    async offer(perSecond: number, seconds: number, weights: readonly number[]) {
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      for (let ms = 0; ms < seconds * 1000; ms += stepMs) {
        const now = clock.monotonic();
        taken = Math.max(0, taken - ((now - refilledAt) / 1000) * limit.requestsPerSecond * 1.05);
        refilledAt = now;
        for (owed += (stepMs / 1000) * perSecond; owed >= 1; owed--) {
          let rest = random.next() * total;
          const index = weights.findIndex((weight) => (rest -= weight) < 0);
          const replica = replicas[index] ?? replicas[0];
          if (replica) ask(replica);
        }
        await clock.advance(stepMs);
      }
    },
    /** Sends twice the burst to every replica at once. */
    flood() {
      for (const replica of replicas) for (let turn = 0; turn < 2 * limit.burst; turn++) ask(replica);
    },
    /** The answers since the last call. */
    result() {
      const result = { allowed, ideal, excess };
      [excess, allowed, ideal] = [0, 0, 0];
      return result;
    },
    async stop() {
      const stopped = Promise.all(replicas.map(({ exchange }) => exchange.stop()));
      await clock.advance(10_000);
      await stopped;
    },
  };
}

function randomLimit(random: Random): Limit {
  const requestsPerSecond = random.pick([0.5, 1, 5, 20, 100, 400]);
  return { requestsPerSecond, burst: random.pick([1, 2, 10, 50, 200]) };
}

/** What all replicas together may allow beyond a burst: one more, or what a plan with a small one allows unseen. */
function excessMax({ requestsPerSecond, burst }: Limit, replicas: number): number {
  return Math.max(burst, requestsPerSecond / 4, replicas - 1) + 1;
}

const rounds = 12 * soakFactor();
const seed = testSeed();

t.test(`replicas that share limits allow a key its rate, once (seed ${seed})`, async (t) => {
  const random = seededRandom(seed);
  for (let round = 0; round < rounds; round++) {
    const limit = randomLimit(random);
    const count = random.between(2, 6);
    const { requestsPerSecond, burst } = limit;
    const gate = await world(random, limit, count);
    const name = `${requestsPerSecond}/s, burst ${burst}, ${count} replicas, round ${round}`;
    const weights = Array.from({ length: count }, () => random.pick<number>([0, 1, 1, 5]));
    if (!weights.some((weight) => weight > 0)) weights[0] = 1;
    const seconds = Math.min(60, Math.max(10, 20 / requestsPerSecond));

    // At once, when a random part of the burst is known to be taken.
    if (random.chance(0.5)) await gate.offer(random.between(0, 2 * burst), 1, weights);
    gate.flood();
    const flooded = gate.result();
    t.ok(flooded.excess <= excessMax(limit, count), `${flooded.excess} beyond the bucket at once: ${name}`);
    // Refills the bucket.
    await gate.clock.advance((3_000 * burst) / requestsPerSecond);
    await gate.offer(0, 2, weights);

    // A step from nothing to as much as the replicas can get.
    const offered = Math.min(2_000, requestsPerSecond * random.pick([1.5, 4, 20]) + burst);
    await gate.offer(offered, seconds, weights);
    const step = gate.result();
    t.ok(step.excess <= excessMax(limit, count), `${step.excess} beyond the bucket: ${name}`);
    t.ok(step.allowed >= step.ideal * 0.95 - 1, `${step.allowed} allowed, and ${step.ideal} by one bucket: ${name}`);

    // On and on: the burst is used up, so that only the rate counts.
    await gate.offer(offered, seconds, weights);
    const steady = gate.result();
    t.ok(steady.excess <= excessMax(limit, count), `${steady.excess} beyond the bucket at a steady load: ${name}`);
    const paidBack = Math.max(0, step.allowed - step.ideal);
    t.ok(
      steady.allowed >= steady.ideal * 0.95 - paidBack - 1,
      `${steady.allowed} allowed at a steady load, and ${steady.ideal} by one bucket: ${name}`,
    );
    await gate.stop();
  }
});

t.test('a load below the rate is allowed, however it is spread', async (t) => {
  const random = seededRandom(seed);
  for (let round = 0; round < rounds / 2; round++) {
    const limit = { requestsPerSecond: random.pick([20, 100, 400]), burst: random.pick([50, 200]) };
    const count = random.between(2, 6);
    const gate = await world(random, limit, count);
    const weights = Array.from({ length: count }, () => random.pick<number>([0, 1, 5]));
    weights[0] = 1;
    await gate.offer(limit.requestsPerSecond * 0.9, 20, weights);
    const { allowed } = gate.result();
    const offered = limit.requestsPerSecond * 0.9 * 20;
    t.ok(allowed >= offered * 0.998 - 1, `${allowed} of ${offered}: ${JSON.stringify(limit)}, ${weights.join('/')}`);
    await gate.stop();
  }
});

t.test('a replica that is cut off limits on its own, says so, and shares again afterwards', async (t) => {
  for (const trouble of ['cut', 'hanging'] as const) {
    const random = seededRandom(seed);
    const limit = { requestsPerSecond: 100, burst: 100 };
    const gate = await world(random, limit, 2);
    const [first, second] = gate.replicas;
    if (!first || !second) throw new Error('there are two replicas');
    const sharing = () => gate.replicas.map(({ gate: { rates } }) => [rates.shared(), rates.replicas()]);
    t.same(sharing(), [
      [true, 2],
      [true, 2],
    ]);
    await gate.offer(400, 10, [1, 1]);
    gate.result();

    second.connection[trouble] = true;
    await gate.offer(400, 3, [1, 1]);
    t.same(sharing()[1], [false, 1], trouble);
    gate.result();
    await gate.offer(400, 10, [1, 1]);
    const { allowed } = gate.result();
    t.ok(allowed > 1_900 && allowed < 2_100, `${allowed} allowed: each replica allows the whole rate`);

    second.connection[trouble] = false;
    await gate.offer(400, 8, [1, 1]);
    t.same(sharing(), [
      [true, 2],
      [true, 2],
    ]);
    gate.result();
    await gate.offer(400, 10, [1, 1]);
    const healed = gate.result();
    t.ok(healed.allowed <= 1_050, `${healed.allowed} allowed: the rate once`);
    await gate.stop();
  }
});

t.test('a replica without others limits on its own and sends nothing', async (t) => {
  const random = seededRandom(seed);
  const gate = await world(random, { requestsPerSecond: 10, burst: 20 }, 1);
  await gate.offer(100, 10, [1]);
  const { allowed, excess } = gate.result();
  t.ok(excess <= 0 && allowed >= 118, `${allowed} allowed`);
  t.same(
    gate.replicas.map(({ gate: { rates } }) => [rates.shared(), rates.replicas()]),
    [[true, 1]],
  );
  await gate.stop();
});
