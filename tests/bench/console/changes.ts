import { systemClock } from '../../../runtime/domain/clock.ts';
import { median, printFigure } from '../figure.ts';
import type { Subject } from './subject.ts';

/** No change falls into the same part of an interval, if the page has one. */
const pauseMs = 700;

/** From the start of `svc app env set` to the variable in a page that shows the app's variables. */
export async function changeToScreen({ platform, context, project, flags }: Subject, rounds: number): Promise<void> {
  const own = await context();
  const page = await own.newPage();
  await page.goto(`${platform.info.api}/projects/${project}/environments/prod/apps/api/variables`);
  await page.getByRole('rowheader', { name: 'LOG_LEVEL' }).waitFor();
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const name = `CHANGE_${round}`;
    const shown = page.getByRole('rowheader', { name, exact: true });
    const from = performance.now();
    const arrives = shown.waitFor().then(() => times.push(performance.now() - from));
    await platform.ok(['app', 'env', 'set', 'api', `${name}=1`, '--no-wait', ...flags]);
    await arrives;
    await systemClock.sleep(pauseMs + (round % 7) * 100);
  }
  await own.close();
  const p95 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? Number.NaN;
  printFigure({ name: 'console.change-p95', value: p95, unit: 'ms', target: { operator: '<', value: 2_000 } });
  printFigure({ name: 'console.change', value: median(times), unit: 'ms' });
}
