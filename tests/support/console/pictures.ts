import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { runningPlatform } from '../platform.ts';
import { launchBrowser } from './browser.ts';
import { sampleMetrics } from './sample-metrics.ts';
import { createTourProject, signedIn, tourPages, type TourPage } from './tour.ts';

const folder = join(import.meta.dirname, '../../../docs/console');
const project = 'shop';
const widths = [1440, 768, 360];
const quality = 0.75;
const settleMs = 1_000;
/** Everything was made less than an hour before, so each time is `1 hr. ago`, in every run. */
const aheadMs = 3_600_000;
const pictured = tourPages(project).filter(({ isPictured }) => isPictured);

const heading = `# Pictures of the web console

\`npm run console:pictures\` makes these pictures on a running platform.

How to use the console: [Use the web console](../how-to/use-the-web-console.md). The values in the charts are samples.
`;

/**
 * `npm run console:pictures`: makes the pictures of docs/console on a running platform (`SVC_HOME`, else the one of
 * `npm start`), with a project of its own that it deletes: ten pages, each in light and dark at three widths.
 */
const platform = await runningPlatform();
const browser = await launchBrowser();
const existing = await platform.svc(['project', 'show', project]);
if (existing.code === 0) {
  await browser.close();
  throw new Error(`the platform has a project ${project} already; delete it, or use another platform`);
}
try {
  await createTourProject(platform, project);
  mkdirSync(folder, { recursive: true });
  for (const file of readdirSync(folder)) if (file.endsWith('.webp')) rmSync(join(folder, file));
  const context = await signedIn(browser, platform);
  const converter = await (await browser.newContext()).newPage();
  for (const width of widths) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const own = await context({ viewport: { width, height: width === 360 ? 740 : 900 }, colorScheme });
      // A project that was just made has no history.
      await own.route(/\/api\/v1\/.*\/apps\/api\/metrics\?/, (route) => route.fulfill({ json: sampleMetrics() }));
      for (const tourPage of pictured) {
        const file = `${tourPage.name}-${width}${colorScheme === 'dark' ? '-dark' : ''}.webp`;
        writeFileSync(join(folder, file), await picture(own, converter, tourPage));
      }
      await own.close();
    }
  }
  const pages = pictured.map(section);
  writeFileSync(join(folder, 'README.md'), [heading, ...pages].join('\n'));
} finally {
  await browser.close();
  await platform.svc(['project', 'delete', project, '--yes', '--no-wait']);
}

async function picture(context: BrowserContext, converter: Page, { path, prepare, ready }: TourPage): Promise<Buffer> {
  const page = await context.newPage();
  await page.clock.setFixedTime(Date.now() + aheadMs);
  await page.goto(`${platform.info.api}${path}`);
  await prepare?.(page);
  await ready(page).first().waitFor();
  // Parts that no page waits for, such as the use of processors. The event stream never ends, so no network is idle.
  await systemClock.sleep(settleMs);
  const png = await page.screenshot({ animations: 'disabled', caret: 'hide' });
  await page.close();
  return toWebp(converter, png);
}

/** Chromium writes WebP, which is a third of the size. */
async function toWebp(converter: Page, png: Buffer): Promise<Buffer> {
  const data = await converter.evaluate(
    async ([source, level]) => {
      const dom = globalThis as unknown as Dom;
      const image = new dom.Image();
      image.src = source;
      await image.decode();
      const canvas = dom.document.createElement('canvas');
      canvas.width = image.width;
      canvas.height = image.height;
      canvas.getContext('2d').drawImage(image, 0, 0);
      return canvas.toDataURL('image/webp', level);
    },
    [`data:image/png;base64,${png.toString('base64')}`, quality] as const,
  );
  return Buffer.from(data.slice(data.indexOf(',') + 1), 'base64');
}

/** What the function above uses in the browser; this program's own types have no DOM. */
interface Dom {
  Image: new () => { src: string; width: number; height: number; decode(): Promise<void> };
  document: {
    createElement(name: 'canvas'): {
      width: number;
      height: number;
      getContext(kind: '2d'): { drawImage(image: unknown, x: number, y: number): void };
      toDataURL(type: string, quality: number): string;
    };
  };
}

/** Formatted as prettier does. */
function section({ name, title }: TourPage): string {
  const pictures = widths.flatMap((width) => [
    `![${title} at ${width} px, light](${name}-${width}.webp)`,
    `![${title} at ${width} px, dark](${name}-${width}-dark.webp)`,
  ]);
  return `## ${title}\n\n${pictures.join('\n\n')}\n`;
}
