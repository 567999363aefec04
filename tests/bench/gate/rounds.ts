import { median, printFigure, type Target } from '../figure.ts';
import { processorSeconds } from './cores.ts';
import type { LoadClient } from './load-client.ts';
import type { LoadResult } from './load.ts';

const warmUpSeconds = 1;
/** Before the first round each server is asked for this long, so that its code is compiled. */
const compileSeconds = 4;
/** Past this the generator itself may be what limits. */
const busyMax = 0.95;
/** With less than this of what was offered, the latency is that of a server that cannot keep up. */
const offeredMin = 0.98;

export interface RoundsOptions {
  rounds: number;
  seconds: number;
  connections: number;
  /** The process that serves each target, whose processor time is counted; a peer's is not known. */
  pids: Readonly<Record<string, number>>;
  peer?: unknown;
}

/** One target's round. */
interface Round extends LoadResult {
  /** Processor time of the server for each answer, in µs; NaN when its process is not known. */
  microseconds: number;
}

/** What each target must answer with, so that nothing is fast by being wrong. */
const expected: Readonly<Record<string, string>> = { flood: '401' };

function check(target: string, { statuses, busy }: LoadResult): void {
  const status = expected[target] ?? '200';
  if (Object.keys(statuses).join() !== status) {
    throw new Error(`${target} must answer ${status} only: ${JSON.stringify(statuses)}`);
  }
  if (busy > busyMax) process.stderr.write(`the load used ${(busy * 100).toFixed(0)} % of its core for ${target}\n`);
}

/** Each target once a round, the order turned round by round. */
async function rounds(
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

/** Throughput of every target, then the latency of the gate and of the bare server at the same offered rate. */
export async function measureRatios(load: LoadClient, options: RoundsOptions): Promise<void> {
  const targets = ['bare', 'gate', 'many-keys', 'many-keys-all', 'flood', ...(options.peer ? ['peer'] : [])];
  for (const target of targets) {
    await load.run(target, { connections: options.connections, warmUpSeconds: 0, seconds: compileSeconds });
  }
  const results = await rounds(load, targets, options);
  const throughput = (target: string) => (results.get(target) ?? []).map((result) => result.requestsPerSecond);
  for (const target of targets) {
    printFigure({ name: `gate.throughput.${target}`, value: median(throughput(target)), unit: 'req/s' });
  }
  for (const target of targets.filter((name) => options.pids[name] !== undefined)) {
    const times = (results.get(target) ?? []).map(({ microseconds }) => microseconds);
    printFigure({ name: `gate.processor-time.${target}`, value: median(times), unit: 'µs' });
  }
  const ratio = (of: string, to: string, name: string, target?: Target) => {
    const bases = throughput(to);
    const ratios = throughput(of).map((value, round) => value / (bases[round] ?? Number.NaN));
    printFigure({ name: `gate.${name}`, value: median(ratios), unit: 'ratio', ...(target && { target }) });
  };
  ratio('gate', 'bare', 'throughput-to-bare', { operator: '>=', value: 0.75 });
  ratio('many-keys', 'gate', 'many-keys-to-few', { operator: '>=', value: 0.9 });
  ratio('many-keys-all', 'gate', 'many-keys-all-to-few');
  ratio('flood', 'bare', 'flood-to-bare', { operator: '>=', value: 0.75 });
  if (options.peer) ratio('gate', 'peer', 'throughput-to-peer', { operator: '>=', value: 3 });

  const rate = Math.round(median(throughput('gate')) / 2);
  const offered = await rounds(load, ['bare', 'gate'], { ...options, rate });
  printFigure({ name: 'gate.offered', value: rate, unit: 'req/s' });
  const p99 = (target: string) => (offered.get(target) ?? []).map((result) => result.p99);
  for (const target of ['bare', 'gate']) {
    printFigure({ name: `gate.p99.${target}`, value: median(p99(target)), unit: 'ms' });
  }
  const bare = p99('bare');
  printFigure({
    ...{ name: 'gate.p99-to-bare', unit: 'ratio' },
    value: median(p99('gate').map((value, round) => value / (bare[round] ?? Number.NaN))),
    target: { operator: '<=', value: 2 },
  });
}
