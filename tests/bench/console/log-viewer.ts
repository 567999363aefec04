import type { Page } from 'playwright-core';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { codeFile } from '../../support/code-file.ts';
import { median, printFigure } from '../figure.ts';
import type { Subject } from './subject.ts';

const linesPerSecond = 1_000;
/** The log viewer keeps this many lines; older ones make room. */
const linesKept = 100_000;
/** Frames of the browser that one scroll through the lines takes. */
const scrollFrames = 600;

/** A function whose pod prints lines for as long as it runs. Every second one is longer than a row of the viewer. */
const code = `
let number = 0;
setInterval(() => {
  let lines = '';
  for (let index = 0; index < ${linesPerSecond / 10}; index++) {
    const entry = { level: 'info', msg: 'order ' + ++number + ' accepted', customer: number % 977 };
    if (number % 2 === 0) entry.items = 'a long list of what the customer has ordered, '.repeat(6);
    lines += JSON.stringify(entry) + '\\n';
  }
  process.stdout.write(lines);
}, 100);
exports.handler = async () => ({ statusCode: 200, body: 'ok' });`;

/**
 * The log viewer with as many lines as it keeps, while 1,000 more arrive per second: the time between two frames while it
 * is scrolled from the first line to the last one, and how its memory grows.
 * @param minutes how long it follows once it is full
 */
export async function logViewer({ platform, context, project, flags }: Subject, minutes: number): Promise<void> {
  const ends: (() => unknown)[] = [];
  const own = await context({ viewport: { width: 1440, height: 900 } });
  try {
    const file = codeFile({ teardown: (end) => void ends.push(end) }, 'chatty.js', code);
    const settings = ['--runtime', 'node', '--code-file', file, '--min-replicas', '1', '--max-replicas', '1'];
    await platform.ok(['function', 'create', 'chatty', ...settings, ...flags]);
    const page = await own.newPage();
    await page.goto(`${platform.info.api}/projects/${project}/environments/prod/functions/chatty/logs`);
    await page.getByRole('log').getByText('accepted').first().waitFor();
    await systemClock.sleep((linesKept / linesPerSecond) * 1_000 * 1.1);

    const sizes = [await heapMegabytes(page)];
    for (let minute = 0; minute < minutes; minute++) {
      await systemClock.sleep(60_000);
      sizes.push(await heapMegabytes(page));
      process.stderr.write(`console.log-viewer: ${sizes.at(-1)?.toFixed(1)} MB after ${minute + 1} minutes\n`);
    }
    const [before = Number.NaN] = sizes;
    printFigure({ name: 'console.log-viewer.memory', value: before, unit: 'MB' });
    const middle = sizes[Math.floor(sizes.length / 2)] ?? Number.NaN;
    printFigure({ name: 'console.log-viewer.memory-middle', value: middle, unit: 'MB' });
    printFigure({ name: 'console.log-viewer.memory-end', value: sizes.at(-1) ?? Number.NaN, unit: 'MB' });
    const growth = median(sizes.slice(-5)) / before;
    printFigure({
      name: 'console.log-viewer.memory-growth',
      value: growth,
      unit: `ratio after ${minutes} minutes`,
      target: { operator: '<=', value: 1.1 },
    });

    const frames = await frameTimes(page);
    const target = { operator: '<=', value: 17 } as const;
    printFigure({ name: 'console.log-viewer.frame', value: median(frames), unit: 'ms', target });
    const p95 = frames.toSorted((a, b) => a - b)[Math.floor(frames.length * 0.95)] ?? Number.NaN;
    printFigure({ name: 'console.log-viewer.frame-p95', value: p95, unit: 'ms' });
  } finally {
    await own.close();
    await platform.svc(['function', 'delete', 'chatty', '--yes', ...flags]);
    for (const end of ends) end();
  }
}

/** What the page's objects take, without garbage. */
async function heapMegabytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize / 1e6;
}

/** Scrolls through the log, and returns the times between the frames in ms. */
async function frameTimes(page: Page): Promise<number[]> {
  return page.evaluate<number[]>(`(async () => {
    const log = document.querySelector('[role="log"]');
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const times = [];
    let before = await frame();
    for (let index = 0; index < ${scrollFrames}; index++) {
      log.scrollTop = (log.scrollHeight - log.clientHeight) * (index / ${scrollFrames});
      const now = await frame();
      times.push(now - before);
      before = now;
    }
    return times;
  })()`);
}
