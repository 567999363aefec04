import { readFileSync } from 'node:fs';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { codeFile } from '../code-file.ts';
import type { Platform } from '../platform.ts';
import { consolePages } from './pages.ts';

const image = 'localhost:5000/svc/hello';

/** A function that prints what programs print: with colours, and as JSON. */
const code = `const colours = { info: 32, warn: 33 };
const print = (level, text) => process.stdout.write('\\u001b[' + colours[level] + 'm' + level + '\\u001b[0m ' + text + '\\n');
exports.handler = async () => {
  for (let order = 1041; order < 1047; order++) {
    print('info', 'order ' + order + ' accepted, ' + (order % 4 + 1) + ' items');
    if (order % 3 === 0) print('warn', 'order ' + order + ': the customer waits for ' + (order % 50 + 200) + ' ms');
  }
  const failure = { level: 'error', msg: 'payment declined', order: 1046, reason: 'the card is expired' };
  process.stdout.write(JSON.stringify(failure) + '\\n');
  return { statusCode: 200, body: 'hello' };
};
`;

/** A page of the console, and what it shows once it is complete. */
export interface TourPage {
  /** Of a picture's file. */
  name: string;
  title: string;
  /** Whether `npm run console:pictures` makes pictures of it: ten pages are enough to show the console. */
  isPictured?: true;
  path: string;
  /** What a person does on the page before it is looked at. */
  prepare?: (page: Page) => Promise<void>;
  ready: (page: Page) => Locator;
}

/** The main pages of a project that {@link createTourProject} made. */
export function tourPages(project: string): readonly TourPage[] {
  const place = `/projects/${project}/environments/prod`;
  const app = `${place}/apps/api`;
  const row = (name: string) => (page: Page) =>
    page.getByRole('row').filter({ has: page.getByRole('rowheader', { name, exact: true }) });
  return [
    { name: 'projects', title: 'Projects', path: '/', ready: row(project) },
    { name: 'environment', title: 'Workloads of an environment', isPictured: true, path: place, ready: row('api') },
    { name: 'app', title: 'App', path: app, ready: (page) => page.getByText(`${image}:v1`) },
    {
      name: 'deployments',
      title: 'Deployments',
      isPictured: true,
      path: `${app}/deployments?changes=2`,
      ready: (page) => page.getByRole('region', { name: /^Revision 2, compared/ }),
    },
    {
      name: 'rollback',
      title: 'Rollback',
      isPictured: true,
      path: `${app}/deployments`,
      prepare: (page) => page.getByRole('button', { name: 'Rollback to revision 2', exact: true }).click(),
      ready: (page) => page.getByRole('dialog'),
    },
    {
      name: 'metrics',
      title: 'Metrics',
      isPictured: true,
      path: `${app}/metrics`,
      ready: (page) => page.getByRole('region', { name: 'Memory' }),
    },
    {
      name: 'variables',
      title: 'Variables and secrets',
      isPictured: true,
      path: `${app}/variables`,
      ready: row('SIGNING_KEY'),
    },
    { name: 'gate', title: 'Gate', path: `${app}/gate`, ready: (page) => page.getByText('off', { exact: true }) },
    {
      name: 'function',
      title: 'Function',
      isPictured: true,
      path: `${place}/functions/hello`,
      ready: (page) => page.getByRole('heading', { level: 1, name: 'hello', exact: true }),
    },
    {
      name: 'logs',
      title: 'Logs',
      isPictured: true,
      // The clock of pictures is an hour ahead.
      path: `${place}/functions/hello/logs?since=6h`,
      ready: (page) => page.getByRole('log').getByText('the customer waits'),
    },
    { name: 'runs', title: 'Runs of an app', path: `${app}/runs`, ready: (page) => page.getByText('Run a command') },
    {
      name: 'new-job',
      title: 'Form of a job',
      path: `${place}/new-job`,
      ready: (page) => page.getByRole('button', { name: 'Create the job' }),
    },
    {
      name: 'keys',
      title: 'API keys',
      isPictured: true,
      path: `${place}/keys`,
      ready: (page) => page.getByText('first customer'),
    },
    { name: 'plans', title: 'Plans', path: `${place}/plans`, ready: row('small') },
    {
      name: 'images',
      title: 'Images',
      path: `${place}/images`,
      ready: (page) => page.getByText('No build has made an image here.'),
    },
    {
      name: 'audit',
      title: 'Audit',
      path: `/projects/${project}/audit`,
      ready: (page) => page.getByText('key.create'),
    },
    { name: 'platform', title: 'Platform', isPictured: true, path: '/platform', ready: row('workers') },
    {
      name: 'notifications',
      title: 'Notifications of alerts',
      path: '/platform/notifications',
      ready: (page) => page.getByRole('button', { name: 'Create a notification', exact: true }),
    },
    {
      name: 'log-drain',
      title: 'Log drain',
      path: '/platform/log-drain',
      ready: (page) => page.getByRole('button', { name: /^(Set a log drain|Edit)$/ }),
    },
    { name: 'users', title: 'Users', path: '/users', ready: (page) => page.getByText('you', { exact: true }) },
    {
      name: 'search',
      title: 'Search',
      isPictured: true,
      path: place,
      prepare: async (page) => {
        await row('api')(page).waitFor();
        await page.keyboard.press('ControlOrMeta+k');
        await page.getByRole('combobox').fill('api');
      },
      ready: (page) => page.getByRole('option', { name: 'Restart api' }),
    },
  ];
}

/** Makes a project with some of everything; {@link tourPages} shows it. @returns the flags that name its environment */
export async function createTourProject(platform: Platform, project: string): Promise<string[]> {
  const flags = ['--project', project, '--environment', 'prod'];
  const ends: (() => unknown)[] = [];
  const file = codeFile({ teardown: (end) => void ends.push(end) }, 'hello.js', code);
  try {
    await platform.ok(['project', 'create', project, '--environment', 'prod', '--environment', 'staging']);
    await platform.ok(['app', 'create', 'api', '--image', `${image}:v1`, ...flags]);
    await platform.ok(['app', 'env', 'set', 'api', 'LOG_LEVEL=info', 'REGION=eu', ...flags]);
    await platform.ok(['app', 'secret', 'set', 'api', 'SIGNING_KEY', '--value-stdin', ...flags], 'not in any picture');
    await platform.ok(['app', 'update', 'api', '--image', `${image}:v2`, '--commit', '4be1f0c2d9', ...flags]);
    await platform.ok(['app', 'rollback', 'api', '--revision', '1', ...flags]);
    await platform.ok(['function', 'create', 'hello', '--runtime', 'node', '--code-file', file, ...flags]);
    await platform.ok(['function', 'invoke', 'hello', ...flags]);
    await platform.ok(['service', 'create', 'orders', '--type', 'redis', ...flags]);
    await platform.ok(['volume', 'create', 'data', '--size', '1Gi', ...flags]);
    await platform.ok(['plan', 'create', 'small', '--rate', '5', '--burst', '10', ...flags]);
    await platform.ok(['key', 'create', '--plan', 'small', '--name', 'first customer', ...flags]);
  } finally {
    for (const end of ends) end();
  }
  return flags;
}

/** Browser contexts that are signed in as the admin of the platform. */
export async function signedIn(
  browser: Browser,
  { info }: Platform,
): Promise<(options?: Parameters<Browser['newContext']>[0]) => Promise<BrowserContext>> {
  const first = await browser.newContext();
  const page = await first.newPage();
  const pages = consolePages(page, info.api);
  await pages.open();
  await pages.signIn(info.adminEmail, readFileSync(info.adminPasswordFile, 'utf8').trim());
  await pages.heading('Projects').waitFor();
  const storageState = await first.storageState();
  await first.close();
  return (options = {}) => browser.newContext({ storageState, ...options });
}
