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
}

/** One target's round. */
export interface Round extends LoadResult {
  /** Processor time of the server per answer, in µs; NaN when its process is unknown. */
  microseconds: number;
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
  const { seconds, connections, rate } = options;
  const settings = { connections, warmUpSeconds, seconds, ...(rate !== undefined && { rate }) };
  for (let round = 0; round < options.rounds; round++) {
    const turn = round % targets.length;
    for (const target of [...targets.slice(turn), ...targets.slice(0, turn)]) {
      const pid = options.pids[target];
      const before = pid === undefined ? Number.NaN : processorSeconds(pid);
      const result = await load.run(target, settings);
      const used = pid === undefined ? Number.NaN : processorSeconds(pid) - before;
      check(target, result);
      if (rate !== undefined && result.requestsPerSecond < rate * offeredMin) {
        process.stderr.write(
          `${target} answered ${result.requestsPerSecond.toFixed(0)} of ${rate} requests a second\n`,
        );
      }
      results.get(target)?.push({ ...result, microseconds: (used * 1e6) / result.answers });
    }
    const line = targets.map((target) => {
      const last = results.get(target)?.at(-1);
      const value = rate === undefined ? last?.requestsPerSecond.toFixed(0) : `${last?.p99.toFixed(2)} ms`;
      return `${target} ${value}`;
    });
    process.stderr.write(`round ${round + 1}: ${line.join(', ')}\n`);
  }
  return results;
}

/** The median of a value's ratios, round by round. */
function ratio(of: readonly Round[], to: readonly Round[], value: (round: Round) => number): number {
  return median(of.map((round, index) => value(round) / (to[index] ? value(to[index]) : Number.NaN)));
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
      const value = ratio(of(one), of(other), ({ requestsPerSecond }) => requestsPerSecond);
      printFigure({ name: `${options.name}.${name}`, value, unit: 'ratio', ...(target && { target }) });
    },
  };
}

/** Throughput of every target compared with the bare server's. @returns the gate's, in requests a second */
export async function measureThroughput(load: LoadClient, options: RoundsOptions): Promise<number> {
  const targets = ['bare', 'gate', 'many-keys', 'flood', ...(options.peer ? ['peer'] : [])];
  const { rate, compare } = await throughput(load, targets, options);
  compare('gate', 'bare', 'throughput-to-bare', { operator: '>=', value: 0.75 });
  compare('many-keys', 'gate', 'many-keys-to-few', { operator: '>=', value: 0.9 });
  compare('flood', 'bare', 'flood-to-bare', { operator: '>=', value: 0.75 });
  if (options.peer) compare('gate', 'peer', 'throughput-to-peer', { operator: '>=', value: 3 });
  return rate('gate');
}

/** All of many keys in use, so that the store records the usage of each: an explanation without a target. */
export async function measureAllKeys(load: LoadClient, options: RoundsOptions): Promise<void> {
  const { compare } = await throughput(load, ['gate', 'all-keys'], options);
  compare('all-keys', 'gate', 'all-keys-to-few');
}

/** The latency of the gate and of the bare server at the same offered rate, in requests a second. */
export async function measureLatency(load: LoadClient, rate: number, options: RoundsOptions): Promise<void> {
  const results = await rounds(load, ['bare', 'gate'], { ...options, rate });
  printFigure({ name: 'gate.offered', value: rate, unit: 'req/s' });
  const [bare = [], gate = []] = [results.get('bare'), results.get('gate')];
  printFigure({ name: 'gate.p99.bare', value: median(bare.map(({ p99 }) => p99)), unit: 'ms' });
  printFigure({ name: 'gate.p99.gate', value: median(gate.map(({ p99 }) => p99)), unit: 'ms' });
  printFigure({
    name: 'gate.p99-to-bare',
    value: ratio(gate, bare, ({ p99 }) => p99),
    unit: 'ratio',
    target: { operator: '<=', value: 2 },
  });
}
