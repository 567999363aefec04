import { memoryAtRest } from './monitoring/memory.ts';
import { ringFigures } from './monitoring/ring.ts';

/** The figures of monitoring. PostgreSQL and Redis must be installed. `--only <name>` prints one: `memory` or `ring`. */
export async function run(args: string[]): Promise<void> {
  const only = args[args.indexOf('--only') + 1];
  const figures: Readonly<Record<string, () => Promise<void>>> = { ring: ringFigures, memory: memoryAtRest };
  for (const [name, print] of Object.entries(figures)) {
    if (!args.includes('--only') || only === name) await print();
  }
}
