import { tourPages } from '../../support/console/tour.ts';
import { median, printFigure } from '../figure.ts';
import type { Subject } from './subject.ts';

/** From the navigation to the table of an environment's workloads, each time with an empty cache. */
export async function timeToUsable({ platform, context, project }: Subject, rounds: number): Promise<void> {
  const overview = tourPages(project).find(({ name }) => name === 'environment');
  if (!overview) throw new Error('the tour has no environment');
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const fresh = await context();
    const page = await fresh.newPage();
    const from = performance.now();
    await page.goto(`${platform.info.api}${overview.path}`, { waitUntil: 'commit' });
    await overview.ready(page).waitFor();
    times.push(performance.now() - from);
    await fresh.close();
  }
  const target = { operator: '<', value: 1_000 } as const;
  printFigure({ name: 'console.usable', value: median(times), unit: 'ms', target });
  printFigure({ name: 'console.usable.slowest', value: Math.max(...times), unit: 'ms' });
}
