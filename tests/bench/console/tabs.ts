import type { BrowserContext } from 'playwright-core';
import { homeAt, homeFolder } from '../../../infra/local/home.ts';
import { findSupervisor } from '../../../infra/local/supervisor-record.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { consolePages } from '../../support/console/pages.ts';
import { uniqueName, type Platform } from '../../support/platform.ts';
import { usageOf } from '../local/process-tree.ts';
import { printFigure } from '../figure.ts';
import type { Subject } from './subject.ts';

/** Each tab holds an event stream, and a browser has six connections to a host (decision 0068). */
const tabsPerUser = 5;
const settleMs = 10_000;

/**
 * The processor time of console-api for each open console that shows an environment in which nothing changes, beyond its
 * time without any. On the embedded cluster only, whose processes are on this machine.
 */
export async function processorPerTab({ platform, browser, project }: Subject, tabs: number, forMs: number) {
  const supervisor = findSupervisor(homeAt(homeFolder(process.env)));
  if (!supervisor) {
    process.stderr.write('console.tab-cpu is measured on the embedded cluster only\n');
    return;
  }
  const rate = async () => {
    const from = apiSeconds(supervisor.pid);
    await systemClock.sleep(forMs);
    return ((apiSeconds(supervisor.pid) - from) * 1_000) / (forMs / 1_000);
  };
  await systemClock.sleep(settleMs);
  const without = await rate();
  const users: string[] = [];
  const contexts: BrowserContext[] = [];
  try {
    for (let first = 0; first < tabs; first += tabsPerUser) {
      const { email, password } = await createViewer(platform, project);
      users.push(email);
      const context = await browser.newContext();
      contexts.push(context);
      for (let tab = 0; tab < Math.min(tabsPerUser, tabs - first); tab++) {
        const page = await context.newPage();
        await page.goto(`${platform.info.api}/projects/${project}/environments/prod`);
        if (tab === 0) await consolePages(page, platform.info.api).signIn(email, password);
        await page.getByRole('rowheader', { name: 'api', exact: true }).waitFor();
      }
    }
    await systemClock.sleep(settleMs);
    const value = ((await rate()) - without) / tabs;
    printFigure({ name: 'console.tab-cpu', value, unit: 'ms/s for each of the tabs' });
    printFigure({ name: 'console.tabs', value: tabs, unit: 'tabs' });
  } finally {
    for (const context of contexts) await context.close();
    for (const email of users) await platform.svc(['user', 'delete', email, '--yes']);
  }
}

async function createViewer(platform: Platform, project: string): Promise<{ email: string; password: string }> {
  const email = `${uniqueName('bench')}@svc.local`;
  const password = uniqueName('a-long-passphrase-');
  await platform.ok(['user', 'create', email, '--password-stdin'], password);
  await platform.ok(['member', 'set', email, '--role', 'viewer', '--project', project]);
  return { email, password };
}

function apiSeconds(pid: number): number {
  const api = usageOf(pid).processes.find(({ command }) => command.includes('functions/main.ts'));
  if (!api) throw new Error('console-api is no process of the embedded cluster');
  return api.cpuSeconds;
}
