import { measureRateScaling } from './functions/rate-scaling.ts';
import { measureFollow } from './monitoring/follow.ts';
import { memoryAtRest } from './monitoring/memory.ts';
import { ringFigures } from './monitoring/ring.ts';
import { searchFigures } from './monitoring/search.ts';
import { measureShipper, measureStore } from './monitoring/shipper.ts';

/**
 * The figures of monitoring. PostgreSQL and Redis must be installed; `follow` and `rate` need a running platform. `--only
 * <name>` prints one: `shipper`, `store`, `search`, `ring`, `memory`, `follow` or `rate`. `--quick` takes few lines, to try them.
 */
export async function run(args: string[]): Promise<void> {
  const only = args[args.indexOf('--only') + 1];
  const isQuick = args.includes('--quick');
  const seconds = isQuick ? 5 : 60;
  const figures: Readonly<Record<string, () => Promise<void>>> = {
    shipper: () => measureShipper(seconds),
    store: () => measureStore(seconds),
    search: () => searchFigures(isQuick ? 20_000 : 1_000_000),
    ring: ringFigures,
    memory: memoryAtRest,
    follow: () => measureFollow(isQuick ? 10 : 200),
    rate: measureRateScaling,
  };
  for (const [name, print] of Object.entries(figures)) {
    if (!args.includes('--only') || only === name) await print();
  }
}
