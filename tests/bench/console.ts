import { launchBrowser } from '../support/console/browser.ts';
import { createTourProject, signedIn } from '../support/console/tour.ts';
import { runningPlatform, uniqueName } from '../support/platform.ts';
import { axeViolations } from './console/accessibility.ts';
import { changeToScreen } from './console/changes.ts';
import { firstLoad } from './console/first-load.ts';
import { logViewer } from './console/log-viewer.ts';
import type { Subject } from './console/subject.ts';
import { processorPerTab } from './console/tabs.ts';
import { timeToUsable } from './console/usable.ts';

/**
 * The figures of the web console, in Chromium on a running platform (`SVC_HOME`, else the one of `npm start`): the size of
 * the first load, the time until a page is usable, the time from a change to the screen, the API's processor time for 50
 * open consoles, violations that axe finds, and frames and memory of the log viewer after an hour. `--only <name>` prints
 * one: `first-load`, `usable`, `change`, `tabs`, `axe` or `log-viewer`. `--quick` repeats little, to try them; `--minutes` is how long the log viewer follows, instead of an hour.
 */
export async function run(args: string[]): Promise<void> {
  const only = args.includes('--only') ? args[args.indexOf('--only') + 1] : undefined;
  const isQuick = args.includes('--quick');
  const minutes = args.includes('--minutes') ? Number(args[args.indexOf('--minutes') + 1]) : isQuick ? 1 : 60;
  if (only === undefined || only === 'first-load') firstLoad();
  const figures: Readonly<Record<string, (subject: Subject) => Promise<void>>> = {
    usable: (subject) => timeToUsable(subject, isQuick ? 3 : 20),
    change: (subject) => changeToScreen(subject, isQuick ? 3 : 40),
    tabs: (subject) => processorPerTab(subject, isQuick ? 10 : 50, isQuick ? 10_000 : 60_000),
    axe: axeViolations,
    'log-viewer': (subject) => logViewer(subject, minutes),
  };
  const chosen = Object.entries(figures).filter(([name]) => only === undefined || only === name);
  if (chosen.length === 0) return;
  const platform = await runningPlatform();
  const project = uniqueName('bench');
  const browser = await launchBrowser();
  try {
    const flags = await createTourProject(platform, project);
    const subject = { platform, browser, project, flags, context: await signedIn(browser, platform) };
    for (const [, print] of chosen) await print(subject);
  } finally {
    await browser.close();
    await platform.svc(['project', 'delete', project, '--yes', '--no-wait']);
  }
}
