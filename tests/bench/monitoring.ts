import { memoryAtRest } from './monitoring/memory.ts';
import { ringFigures } from './monitoring/ring.ts';
import { measureShipper } from './monitoring/shipper.ts';

/** Seconds for which lines are written for the log shipper. */
const shippedSeconds = 60;

/**
 * The figures of monitoring. PostgreSQL and Redis must be installed. `--only <name>` prints one: `shipper`, `ring` or
 * `memory`.
 */
export async function run(args: string[]): Promise<void> {
  const only = args[args.indexOf('--only') + 1];
  const figures: Readonly<Record<string, () => Promise<void>>> = {
    shipper: () => measureShipper(shippedSeconds),
    ring: ringFigures,
    memory: memoryAtRest,
  };
  for (const [name, print] of Object.entries(figures)) {
    if (!args.includes('--only') || only === name) await print();
  }
}
