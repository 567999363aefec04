import { parseArgs } from 'node:util';
import { run as runColdStart } from './cold-start.ts';
import { run as runEvents } from './events.ts';
import { measureManyAtZero } from './functions/many-at-zero.ts';
import { measureRateScaling } from './functions/rate-scaling.ts';
import { measureWarm } from './functions/warm.ts';

const parts = ['cold-start', 'events', 'rate-scaling', 'many-at-zero', 'warm'] as const;

/**
 * Functions: cold starts (`cold-start.ts`), events (`events.ts`), scaling by rate (`functions/rate-scaling.ts`), many at
 * zero (`functions/many-at-zero.ts`) and the warm path (`functions/warm.ts`), one after the other; all but the last need a
 * running platform. `--only <part>` leaves out the others; `--pairs <n>` of cold starts (30); `--functions <n>` at zero
 * (2,000), of which `--woken <n>` (200) are woken at once; `--rounds <n>` (9) of `--seconds <n>` (3) on the warm path.
 */
export async function run(args: string[]): Promise<void> {
  const option = (value: string) => ({ type: 'string', default: value }) as const;
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string', multiple: true, default: [] },
      pairs: option('30'),
      functions: option('2000'),
      woken: option('200'),
      rounds: option('9'),
      seconds: option('3'),
    },
  });
  const unknown = values.only.find((name) => !parts.some((part) => part === name));
  if (unknown !== undefined) throw new Error(`there is no part "${unknown}", but ${parts.join(', ')}`);
  const run: Readonly<Record<(typeof parts)[number], () => Promise<void>>> = {
    'cold-start': () => runColdStart(['--pairs', values.pairs]),
    events: () => runEvents([]),
    'rate-scaling': measureRateScaling,
    'many-at-zero': () => measureManyAtZero({ functions: Number(values.functions), woken: Number(values.woken) }),
    // Last, because it moves this process off a core permanently.
    warm: () => measureWarm({ rounds: Number(values.rounds), seconds: Number(values.seconds) }),
  };
  for (const part of parts) {
    if (values.only.length > 0 && !values.only.includes(part)) continue;
    process.stderr.write(`${part}\n`);
    await run[part]();
  }
}
