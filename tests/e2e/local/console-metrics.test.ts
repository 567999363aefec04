import t from 'tap';
import { checkAccessibility, overflows } from '../../support/console/browser.ts';
import { startVisitor } from '../../support/console/visitor.ts';
import { eventually, runningPlatform, testProject } from '../../support/platform.ts';

const platform = await runningPlatform();
const { browser, visit } = await startVisitor(t, platform);
const { project, flags } = await testProject(t, platform);
const place = `/projects/${project}/environments/prod`;
const address = `${place}/apps/api/metrics`;

interface Metrics {
  figures: { memoryBytes: (number | null)[] };
}

const isMeasured = ({ figures }: Metrics) => figures.memoryBytes.some((value) => value !== null);

t.before(async () => {
  await platform.ok(['app', 'create', 'api', '--image', 'localhost:5000/svc/hello:v1', ...flags]);
  await platform.ok(['service', 'create', 'cache', '--type', 'redis', ...flags]);
  await eventually(() => platform.json<Metrics>(['app', 'metrics', 'api', ...flags]), isMeasured);
});

t.test('the metrics of an app are charts and tables of what the API has, for a range in the address', async (t) => {
  const { page } = await visit(t, address);
  const memory = page.getByRole('region', { name: 'Memory' });
  await memory.getByRole('img', { name: /^Memory from / }).waitFor();
  await page.getByRole('region', { name: 'Requests per second' }).waitFor();
  await checkAccessibility(t, page, 'metrics');

  await memory.getByText('Table of the values').click();
  await memory.getByRole('row').nth(1).waitFor();
  t.match(await memory.getByRole('cell', { name: /\d [KM]iB$/ }).count(), /[1-9]/);
  await checkAccessibility(t, page, 'a table of metrics');

  await page.getByLabel('Range', { exact: true }).selectOption('last 6 hours');
  await page.waitForURL(/range=6h/);
  await page.getByText(/svc app metrics api .*--range 6h/).waitFor();
  const deployments = page.getByRole('region', { name: 'Deployments in this range' });
  await deployments.getByText('Revision 1').waitFor();
});

t.test('metrics fit a phone, and an address names the range', async (t) => {
  const { page } = await visit(t, `${address}?range=24h`, { width: 360 });
  await page.getByRole('region', { name: 'Memory' }).waitFor();
  t.equal(await page.getByLabel('Range', { exact: true }).inputValue(), '24h');
  t.notOk(await overflows(page));
});

t.test('a service that the platform runs has metrics, and one outside has none', async (t) => {
  await eventually(() => platform.json<Metrics>(['service', 'metrics', 'cache', ...flags]), isMeasured);
  const { page, pages } = await visit(t, `${place}/services/cache`);
  await pages.link('Metrics').click();
  await page.getByRole('region', { name: 'Memory' }).getByRole('img').waitFor();
  await page.getByRole('region', { name: 'CPU cores' }).waitFor();
  t.equal(await page.getByRole('region', { name: 'Requests per second' }).count(), 0);
  await checkAccessibility(t, page, 'metrics of a service');
  await page.getByLabel('Range', { exact: true }).selectOption('last 24 hours');
  await page.waitForURL(/services\/cache\/metrics\?range=24h/);
  await page.getByText(`svc service metrics cache ${flags.join(' ')} --range 24h`).waitFor();
  await page.setViewportSize({ width: 360, height: 740 });
  t.notOk(await overflows(page));
  await pages.link('Overview').click();
  await page.getByText('No workload is bound to this service.').waitFor();

  const external = ['--type', 'redis', '--external', 'redis.example.com:6380'];
  await platform.ok(['service', 'create', 'outside', ...external, ...flags]);
  await pages.open(`${place}/services/outside/metrics`);
  await page.getByText('has no metrics of it').waitFor();
  t.equal(await pages.link('Metrics').count(), 0);
});

t.test('without a metrics store, the page says how to enable one', async (t) => {
  const { page, pages } = await visit(t);
  const problem = { code: 'metrics_unavailable', message: 'The installation has no metrics store.' };
  await page.route(/\/apps\/api\/metrics\?/, (route) =>
    route.request().resourceType() === 'document' ? route.continue() : route.fulfill({ status: 503, json: problem }),
  );
  await pages.row(project).waitFor();
  await pages.open(address);
  await page.getByText('svc platform enable metrics-store').waitFor();
  await page.getByRole('alert').getByText('metrics_unavailable').waitFor();
  await checkAccessibility(t, page, 'metrics without a store');
});

t.test('no page of these tests had an error, or did what its policy forbids', (t) => {
  // The browser reports the refusal that a test above makes up.
  const faults = browser.faults.filter((fault) => !fault.includes('status of 503'));
  t.same(faults, []);
  t.end();
});
