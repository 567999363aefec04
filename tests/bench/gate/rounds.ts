import { setTimeout as wait } from 'node:timers/promises';
import { median, printFigure, printRounds, type Target } from '../figure.ts';
import { processorSeconds } from './cores.ts';
import type { LoadClient } from './load-client.ts';
import type { LoadResult } from './load.ts';

const warmUpSeconds = 1;
/** Before the first round each server gets requests for this long, so that its code is compiled. */
const compileSeconds = 4;
/** A server is at rest when it has used at most this share of its core for this long, in ms. */
const [restShare, restMs] = [0.05, 400] as const;
/** Above this the generator itself may be the limit. */
const busyMax = 0.95;
/** Above this share of a latency, the generator may have caused it. */
const ownDelayMax = 0.25;
/** Below this share of the offered rate, the latency is that of a server that cannot keep up. */
const offeredMin = 0.98;

export interface RoundsOptions {
  /** The prefix of the figures. */
  name: string;
  rounds: number;
  seconds: number;
  connections: number;
  /** The process of each target, whose processor time is counted; a peer's is unknown. */
  pids: Readonly<Record<string, number>>;
  peer?: unknown;
  /**
   * The share of its core that a server under full load must use; default 0. A round in which one uses less measures the
   * load, or whatever else used the machine: comparisons leave it out.
   */
  busyMin?: number;
}

/** One target's round. */
export interface Round extends LoadResult {
  /** Processor time of the server per answer, in µs; NaN when its process is unknown. */
  microseconds: number;
  /** The share of its core that the server used; NaN when its process is unknown. */
  serverBusy: number;
}

/** The expected status of each target, so that a wrong answer does not count as fast. */
const expected: Readonly<Record<string, string>> = { flood: '401' };

function check(target: string, { statuses, busy }: LoadResult): void {
  const status = expected[target] ?? '200';
  if (Object.keys(statuses).join() !== status) {
    throw new Error(`${target} must answer ${status} only: ${JSON.stringify(statuses)}`);
  }
  if (busy > busyMax) process.stderr.write(`the load used ${(busy * 100).toFixed(0)} % of its core for ${target}\n`);
}

/** Each target once a round, in an order that rotates. */
export async function rounds(
  load: LoadClient,
  targets: readonly string[],
  options: RoundsOptions & { rate?: number },
): Promise<Map<string, Round[]>> {
  const results = new Map<string, Round[]>(targets.map((target) => [target, []]));
  for (let round = 0; round < options.rounds; round++) {
    const turn = round % targets.length;
    for (const target of [...targets.slice(turn), ...targets.slice(0, turn)]) {
      results.get(target)?.push(await measure(load, target, options));
    }
    const line = targets.map((target) => {
      const { requestsPerSecond = 0, p99 = 0, serverBusy = 0 } = results.get(target)?.at(-1) ?? {};
      const value = options.rate === undefined ? requestsPerSecond.toFixed(0) : `${p99.toFixed(2)} ms`;
      return `${target} ${value} (${(serverBusy * 100).toFixed(0)} % of its core)`;
    });
    process.stderr.write(`round ${round + 1}: ${line.join(', ')}\n`);
  }
  return results;
}

async function measure(
  load: LoadClient,
  target: string,
  { seconds, connections, rate, pids }: RoundsOptions & { rate?: number },
): Promise<Round> {
  const pid = pids[target];
  await othersRest(Object.values(pids).filter((other) => other !== pid));
  const used = () => (pid === undefined ? Number.NaN : processorSeconds(pid));
  const [before, startedAt] = [used(), performance.now()];
  const result = await load.run(target, { connections, warmUpSeconds, seconds, ...(rate !== undefined && { rate }) });
  const [spent, wall] = [used() - before, (performance.now() - startedAt) / 1000];
  check(target, result);
  if (rate !== undefined && result.requestsPerSecond < rate * offeredMin) {
    process.stderr.write(`${target} answered ${result.requestsPerSecond.toFixed(0)} of ${rate} requests a second\n`);
  }
  return { ...result, microseconds: (spent * 1e6) / result.answers, serverBusy: spent / wall };
}

/** Waits until the servers that share the core have done what their own rounds left, such as to write the usage of keys. */
async function othersRest(pids: readonly number[]): Promise<void> {
  const used = () => pids.reduce((sum, pid) => sum + processorSeconds(pid), 0);
  for (let [before, now] = [-Infinity, used()]; now - before > restShare * (restMs / 1000); now = used()) {
    before = now;
    await wait(restMs);
  }
}

/** The rounds of two targets that count for both. */
function pairs(
  of: readonly Round[],
  to: readonly Round[],
  counts: (round: Round) => boolean = () => true,
): (readonly [Round, Round])[] {
  return of.flatMap((round, index) => {
    const other = to[index];
    return other !== undefined && counts(round) && counts(other) ? [[round, other] as const] : [];
  });
}

/** A value's ratios, round by round. */
function ratios(of: readonly (readonly [Round, Round])[], value: (round: Round) => number): number[] {
  return of.map(([round, other]) => value(round) / value(other));
}

/** Prints the ratio of two targets, of the rounds that count. @param why of those that do not */
function printRatio(
  figure: { name: string; target?: Target },
  all: readonly (readonly [Round, Round])[],
  { counting, value, why }: { counting: (readonly [Round, Round])[]; value: (round: Round) => number; why: string },
): void {
  if (counting.length < all.length) {
    process.stderr.write(
      `${figure.name}: ${all.length - counting.length} of ${all.length} rounds are thrown away, because ${why}\n`,
    );
  }
  if (counting.length * 2 < all.length) process.stderr.write(`${figure.name}: not judged, because ${why}\n`);
  else printRounds({ ...figure, unit: 'ratio' }, ratios(counting, value));
}

/** The results of the rounds, beyond the printed ones. */
interface Throughput {
  /** Of a target, in requests a second. */
  rate: (target: string) => number;
  /** Prints the ratio of two targets. */
  compare: (of: string, to: string, name: string, target?: Target) => void;
}

/** Throughput in alternating rounds, printed for each target. */
export async function throughput(
  load: LoadClient,
  targets: readonly string[],
  options: RoundsOptions,
): Promise<Throughput> {
  for (const target of targets) {
    await load.run(target, { connections: options.connections, warmUpSeconds: 0, seconds: compileSeconds });
  }
  const results = await rounds(load, targets, options);
  const of = (target: string) => results.get(target) ?? [];
  const rate = (target: string) => median(of(target).map(({ requestsPerSecond }) => requestsPerSecond));
  for (const target of targets) {
    const perSecond = of(target).map(({ requestsPerSecond }) => requestsPerSecond);
    printRounds({ name: `${options.name}.throughput.${target}`, unit: 'req/s' }, perSecond);
    const time = median(of(target).map(({ microseconds }) => microseconds));
    if (!Number.isNaN(time)) printFigure({ name: `${options.name}.processor-time.${target}`, value: time, unit: 'µs' });
  }
  return {
    rate,
    compare: (one, other, name, target) => {
      const { name: prefix, busyMin = 0 } = options;
      const all = pairs(of(one), of(other));
      const perAnswer = median(ratios(all, ({ microseconds }) => 1 / microseconds));
      if (!Number.isNaN(perAnswer)) {
        printFigure({ name: `${prefix}.${name}.by-processor-time`, value: perAnswer, unit: 'ratio' });
      }
      printRatio({ name: `${prefix}.${name}`, ...(target && { target }) }, all, {
        // The processor time of a peer is unknown.
        counting: pairs(of(one), of(other), ({ serverBusy }) => !(serverBusy < busyMin)),
        value: ({ requestsPerSecond }) => requestsPerSecond,
        why: `a server was idle for more than ${((1 - busyMin) * 100).toFixed(0)} %`,
      });
    },
  };
}

/** Throughput of every target compared with the bare servers'. @returns the gate's, in requests a second */
export async function measureThroughput(load: LoadClient, options: RoundsOptions): Promise<number> {
  const targets = ['stock', 'bare', 'gate', 'post', 'many-keys', 'flood', ...(options.peer ? ['peer'] : [])];
  const { rate, compare } = await throughput(load, targets, { ...options, busyMin: 0.9 });
  compare('gate', 'bare', 'throughput-to-bare', { operator: '>=', value: 0.9 });
  compare('gate', 'stock', 'throughput-to-stock-options', { operator: '>=', value: 0.75 });
  compare('post', 'gate', 'post-to-get');
  compare('many-keys', 'gate', 'many-keys-to-few', { operator: '>=', value: 0.95 });
  compare('flood', 'bare', 'flood-to-bare', { operator: '>=', value: 0.75 });
  if (options.peer) compare('gate', 'peer', 'throughput-to-peer', { operator: '>=', value: 3 });
  return rate('gate');
}

/** The latency of the gate and of the bare server at the same offered rate, in requests a second. */
export async function measureLatency(load: LoadClient, rate: number, options: RoundsOptions): Promise<void> {
  const targets = ['bare', 'gate', 'many-keys'];
  const results = await rounds(load, targets, { ...options, rate });
  const of = (target: string) => results.get(target) ?? [];
  printFigure({ name: 'gate.offered', value: rate, unit: 'req/s' });
  for (const target of targets) {
    const values = (value: (round: Round) => number) => of(target).map(value);
    printFigure({ name: `gate.p50.${target}`, value: median(values(({ p50 }) => p50)), unit: 'ms' });
    printRounds(
      { name: `gate.p99.${target}`, unit: 'ms' },
      values(({ p99 }) => p99),
    );
    printFigure({ name: `gate.load-delay.${target}`, value: median(values(({ ownDelay }) => ownDelay)), unit: 'ms' });
  }
  const compare = (one: string, other: string, name: string, value: number) => {
    printRatio({ name: `gate.${name}`, target: { operator: '<=', value } }, pairs(of(one), of(other)), {
      counting: pairs(of(one), of(other), ({ ownDelay, p99 }) => ownDelay <= p99 * ownDelayMax),
      value: ({ p99 }) => p99,
      why: 'the load itself was late',
    });
  };
  compare('gate', 'bare', 'p99-to-bare', 2);
  compare('many-keys', 'gate', 'many-keys-p99-to-few', 1.5);
}
