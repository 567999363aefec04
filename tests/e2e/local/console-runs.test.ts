import t from 'tap';
import { checkAccessibility, overflows } from '../../support/console/browser.ts';
import { startVisitor } from '../../support/console/visitor.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../../support/platform.ts';

const platform = await runningPlatform();
const { browser, visit } = await startVisitor(t, platform);
const { project, flags } = await testProject(t, platform);
const place = `/projects/${project}/environments/prod`;
const image = ['--image', 'localhost:5000/svc/hello:v1'];
const hostile = '<img src=x onerror=alert(1)>';

interface Run {
  name: string;
  status: string;
}

t.test('the log of a job has the lines of all runs, or those of one run', async (t) => {
  const script = `console.log(${JSON.stringify(hostile)}, 'number', Math.random())`;
  const words = ['node', '-e', script].flatMap((word) => ['--command', word]);
  await platform.ok(['job', 'create', 'report', ...image, ...words, ...flags]);
  const { page, pages } = await visit(t, `${place}/jobs/report`);
  await pages.link('Logs').click();
  await page.getByText('No lines in this range.').waitFor();
  await platform.ok(['job', 'run', 'report', ...flags]);
  await platform.ok(['job', 'run', 'report', ...flags]);
  const lines = page.getByRole('log', { name: 'Log of report' }).getByText(`${hostile} number`);
  await lines.nth(1).waitFor();
  await checkAccessibility(t, page, 'the log of all runs of a job');

  const [newest, first] = await platform.json<[Run, Run]>(['job', 'runs', 'report', ...flags]);
  const run = page.getByLabel('Run', { exact: true });
  await run.selectOption(`${first.name} (succeeded)`);
  const region = page.getByRole('region', { name: `Log of ${first.name}` });
  const logOf = ({ name }: Run) => platform.ok(['job', 'logs', 'report', '--run', name, ...flags]);
  await region.getByText((await logOf(first)).trim(), { exact: true }).waitFor();
  t.equal(await page.getByText((await logOf(newest)).trim(), { exact: true }).count(), 0);
  await page.getByText(`svc job logs report --run ${first.name} ${flags.join(' ')}`).waitFor();
  t.equal(new URL(page.url()).searchParams.get('run'), first.name);
  await checkAccessibility(t, page, 'the log of one run of a job');
  await page.setViewportSize({ width: 360, height: 740 });
  t.notOk(await overflows(page));
  await page.goBack();
  await lines.nth(1).waitFor();
  t.notOk(await overflows(page));

  await pages.open(`${place}/jobs/report/logs?run=report-missing`);
  await pages.alert().getByText('not_found').waitFor();
  t.equal(await run.inputValue(), 'report-missing');
});

t.test('a command runs once with the environment of an app, and is stopped', async (t) => {
  await platform.ok(['app', 'create', 'api', ...image, '--env', 'GREETING=hello', ...flags]);
  const list = () => platform.json<Run[]>(['app', 'runs', 'api', ...flags]);
  const { page, pages } = await visit(t, `${place}/apps/api`);
  const dialog = pages.dialog();
  await pages.link('Runs').click();
  await page.getByText('No one-off run is stored.').waitFor();
  await checkAccessibility(t, page, 'an app without runs');
  await pages.button('Run a command').click();
  const command = dialog.getByLabel('Program and arguments, one on each line');
  await command.fill(`node\n-e\nconsole.log(process.env.GREETING, ${JSON.stringify(hostile)})`);
  await dialog.getByText('svc app run api').waitFor();
  await checkAccessibility(t, page, 'the form of a run');
  await dialog.getByRole('button', { name: 'Run a command' }).click();
  const log = page.getByRole('region', { name: /^Log of api-/ });
  await log.getByText(`hello ${hostile}`, { exact: true }).waitFor();
  const [first] = await list();
  const name = first?.name ?? '';
  t.equal(new URL(page.url()).searchParams.get('run'), name);
  await page.getByRole('row', { name }).getByText('succeeded').waitFor();
  t.equal(await platform.ok(['app', 'logs', 'api', '--run', name, ...flags]), `hello ${hostile}`);
  await checkAccessibility(t, page, 'the runs of an app');

  await pages.button('Run a command').click();
  await command.fill('node\n-e\nsetInterval(() => {}, 1000)');
  await dialog.getByRole('button', { name: 'Run a command' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: /^Stop api-/ }).click();
  await dialog.getByText('The pod of the run is stopped').waitFor();
  await dialog.getByText('svc app stop-run api api-').waitFor();
  await checkAccessibility(t, page, 'the dialog that stops a run');
  await dialog.getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('button', { name: /^Stop api-/ }).waitFor({ state: 'detached' });
  await eventually(list, (runs) => runs.length === 1);
  await pages.button(`Delete ${name}`).click();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No one-off run is stored.').waitFor();
  await eventually(list, (runs) => runs.length === 0);
});

t.test('on a phone nothing is cut off, and a viewer sees no button that the API would refuse', async (t) => {
  const user = { email: `${uniqueName('viewer')}@svc.local`, password: uniqueName('a-long-passphrase-') };
  await platform.ok(['user', 'create', user.email, '--password-stdin'], user.password);
  await platform.ok(['member', 'set', user.email, '--role', 'viewer', '--project', project]);
  await platform.ok(['app', 'run', 'api', ...flags, '--', 'node', '-e', `console.log('x'.repeat(500))`]);
  const { page } = await visit(t, `${place}/apps/api/runs`, { width: 360, user });
  await page.getByRole('button', { name: /^Log of api-/ }).click();
  await page.getByText('x'.repeat(500)).waitFor();
  t.notOk(await overflows(page));
  const names = await page.getByRole('button').allInnerTexts();
  t.same([...new Set(names)].toSorted(), ['Assistant', 'Copy', 'Hide the log', 'Log', 'Search', 'Sign out']);
});

t.test('no page of these tests had an error, or did what its policy forbids', (t) => {
  t.same(browser.faults, []);
  t.end();
});
