import { printFigure } from '../figure.ts';
import { residentMemory } from './cores.ts';
import type { LoadClient } from './load-client.ts';

const megabyte = 1e6;
const sampleMs = 100;
const stepSeconds = 10;
/** The heap reaches its normal size in the first part; growth counts from there to the last part. */
const parts = 5;

/**
 * Resident memory while this many requests are served. Compares the lowest reading of the last fifth with that of the
 * second, because memory that a collector frees is not growth.
 */
export async function measureMemory(
  load: LoadClient,
  { pid, requests, connections }: { pid: number; requests: number; connections: number },
): Promise<void> {
  const lowest = Array.from({ length: parts }, () => Number.POSITIVE_INFINITY);
  let served = 0;
  let highest = 0;
  const sampler = setInterval(() => {
    const { now } = residentMemory(pid);
    const part = Math.min(parts - 1, Math.floor((served / requests) * parts));
    lowest[part] = Math.min(lowest[part] ?? now, now);
    highest = Math.max(highest, now);
  }, sampleMs);
  try {
    while (served < requests) {
      const { answers } = await load.run('gate', { connections, warmUpSeconds: 0, seconds: stepSeconds });
      served += answers;
    }
  } finally {
    clearInterval(sampler);
  }
  const [, early = Number.NaN] = lowest;
  const late = lowest.at(-1) ?? Number.NaN;
  printFigure({ name: 'gate.memory.requests', value: served, unit: 'requests' });
  printFigure({ name: 'gate.memory.early', value: early / megabyte, unit: 'MB' });
  printFigure({ name: 'gate.memory.late', value: late / megabyte, unit: 'MB' });
  printFigure({ name: 'gate.memory.highest', value: highest / megabyte, unit: 'MB' });
  printFigure({
    name: 'gate.memory.growth',
    value: late / early,
    unit: 'ratio',
    target: { operator: '<=', value: 1.05 },
  });
}
