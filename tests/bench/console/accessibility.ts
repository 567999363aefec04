import { accessibilityFaults } from '../../support/console/browser.ts';
import { tourPages } from '../../support/console/tour.ts';
import { printFigure } from '../figure.ts';
import type { Subject } from './subject.ts';

/** What axe finds on the main pages, each in light and dark, on a wide and a narrow screen. */
export async function axeViolations({ platform, context, project }: Subject): Promise<void> {
  let [violations, pages] = [0, 0];
  for (const width of [1440, 360]) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const own = await context({ viewport: { width, height: 900 }, colorScheme });
      const page = await own.newPage();
      for (const { name, path, prepare, ready } of tourPages(project)) {
        await page.goto(`${platform.info.api}${path}`);
        await prepare?.(page);
        await ready(page).first().waitFor();
        const faults = await accessibilityFaults(page);
        for (const fault of faults) process.stderr.write(`${name}, ${width} px, ${colorScheme}: ${fault}\n`);
        violations += faults.length;
        pages += 1;
      }
      await own.close();
    }
  }
  printFigure({ name: 'console.axe', value: violations, unit: 'violations', target: { operator: '==', value: 0 } });
  printFigure({ name: 'console.axe.pages', value: pages, unit: 'pages' });
}
