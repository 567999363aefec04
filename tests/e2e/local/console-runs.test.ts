import t from 'tap';
import { checkAccessibility, overflows } from '../../support/console/browser.ts';
import { startVisitor } from '../../support/console/visitor.ts';
import { runningPlatform, testProject } from '../../support/platform.ts';

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

t.test('no page of these tests had an error, or did what its policy forbids', (t) => {
  t.same(browser.faults, []);
  t.end();
});
