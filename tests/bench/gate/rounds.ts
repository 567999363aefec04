import { median, printFigure, type Target } from '../figure.ts';
import { processorSeconds } from './cores.ts';
import type { LoadClient } from './load-client.ts';
import type { LoadResult } from './load.ts';

const warmUpSeconds = 1;
/** Before the first round each server gets requests for this long, so that its code is compiled. */
const compileSeconds = 4;
/** Above this the generator itself may be the limit. */
const busyMax = 0.95;
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

/** The rounds of two targets in which both servers used at least this share of their cores. */
function busyPairs(of: readonly Round[], to: readonly Round[], busyMin: number): (readonly [Round, Round])[] {
  return of.flatMap((round, index) => {
    const other = to[index];
    const idle = round.serverBusy < busyMin || (other?.serverBusy ?? 0) < busyMin;
    return other === undefined || idle ? [] : [[round, other] as const];
  });
}

/** The median of a value's ratios, round by round. */
function ratio(pairs: readonly (readonly [Round, Round])[], value: (round: Round) => number): number {
  return median(pairs.map(([of, to]) => value(of) / value(to)));
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
    printFigure({ name: `${options.name}.throughput.${target}`, value: rate(target), unit: 'req/s' });
    const time = median(of(target).map(({ microseconds }) => microseconds));
    if (!Number.isNaN(time)) printFigure({ name: `${options.name}.processor-time.${target}`, value: time, unit: 'µs' });
  }
  return {
    rate,
    compare: (one, other, name, target) => {
      const { name: prefix, busyMin = 0 } = options;
      const all = busyPairs(of(one), of(other), 0);
      const busy = busyPairs(of(one), of(other), busyMin);
      if (busy.length < all.length) {
        process.stderr.write(
          `${name}: ${all.length - busy.length} of ${all.length} rounds are thrown away, because a server was idle for more than ${((1 - busyMin) * 100).toFixed(0)} %\n`,
        );
      }
      const perAnswer = ratio(all, ({ microseconds }) => 1 / microseconds);
      if (!Number.isNaN(perAnswer)) {
        printFigure({ name: `${prefix}.${name}.by-processor-time`, value: perAnswer, unit: 'ratio' });
      }
      if (busy.length * 2 < all.length) {
        process.stderr.write(`${name}: not judged, since the load was the limit\n`);
        return;
      }
      const value = ratio(busy, ({ requestsPerSecond }) => requestsPerSecond);
      printFigure({ name: `${prefix}.${name}`, value, unit: 'ratio', ...(target && { target }) });
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
    printFigure({ name: `gate.p50.${target}`, value: median(of(target).map(({ p50 }) => p50)), unit: 'ms' });
    printFigure({ name: `gate.p99.${target}`, value: median(of(target).map(({ p99 }) => p99)), unit: 'ms' });
  }
  const compare = (one: string, other: string, name: string, value: number) =>
    printFigure({
      name: `gate.${name}`,
      value: ratio(busyPairs(of(one), of(other), 0), ({ p99 }) => p99),
      unit: 'ratio',
      target: { operator: '<=', value },
    });
  compare('gate', 'bare', 'p99-to-bare', 2);
  compare('many-keys', 'gate', 'many-keys-p99-to-few', 1.5);
}
