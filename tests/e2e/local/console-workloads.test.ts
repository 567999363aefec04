import t from 'tap';
import { codeFile } from '../../support/code-file.ts';
import { checkAccessibility, overflows } from '../../support/console/browser.ts';
import { startVisitor } from '../../support/console/visitor.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../../support/platform.ts';

const platform = await runningPlatform();
const { browser, visit } = await startVisitor(t, platform);
const { project, flags } = await testProject(t, platform);
const image = 'localhost:5000/svc/hello';
await platform.ok(['app', 'create', 'api', '--image', `${image}:v1`, ...flags]);
const place = `/projects/${project}/environments/prod`;
const hostile = '<img src=x onerror=alert(1)>';

t.test('a deployment shows its steps and its log', async (t) => {
  const { page, pages } = await visit(t, `${place}/apps/api/deployments`);
  const first = pages.deployment(1);
  await first.getByText('current').waitFor();
  t.match(
    await first.getByRole('list', { name: 'Steps' }).innerText(),
    /queued .*started .*succeeded .*, after \d+ s/s,
  );
  await pages.link('Log of revision 1').click();
  const log = page.getByRole('region', { name: 'Log of revision 1' });
  await log.getByRole('region', { name: /^Pod / }).waitFor();
  t.match(new URL(page.url()).search, /^\?log=/);
  t.match(await log.innerText(), /svc deployment logs [0-9a-f-]{36} --project/);
  await checkAccessibility(t, page, 'log of a deployment');

  const text = `\u001B[31mfailed:\u001B[0m ${hostile}\n 10 %\r100 %\n`;
  await page.route('**/logs', (route) => route.fulfill({ json: { build: { text, truncated: true }, pods: [] } }));
  await page.reload();
  const build = log.getByRole('region', { name: 'Build' });
  await build.waitFor();
  t.equal((await build.innerText()).trim(), `failed: ${hostile}\n100 %`);
  await log.getByText('The beginning is missing.').waitFor();
  await pages.link('Hide log of revision 1').click();
  await log.waitFor({ state: 'detached' });
});

t.test('an app is bound to a service, gets a new password, and is unbound', async (t) => {
  interface Binding {
    service: string;
    prefix: string;
  }
  const bindings = () => platform.json<Binding[]>(['app', 'bindings', 'api', ...flags]);
  await platform.ok(['service', 'create', 'sessions', '--type', 'redis', '--external', 'redis.example.com', ...flags]);
  const { page, pages } = await visit(t, `${place}/apps/api/variables`);
  await page.getByText('This app is not bound to a service.').waitFor();
  // The list of services comes late and fails at first: the dialog does not say that there are none.
  const { promise: answer, resolve: fail } = Promise.withResolvers<undefined>();
  await page.route(/\/services\?/, async (route) => {
    await answer;
    await route.fulfill({ status: 403, json: { code: 'forbidden', message: 'The list cannot be read.' } });
  });
  await pages.button('Bind to a service').click();
  const bind = pages.dialog().getByRole('button', { name: 'Bind to a service' });
  await pages.dialog().getByRole('status').getByText('Loading…').waitFor();
  t.ok(await bind.isDisabled(), 'no binding without a service');
  t.equal(await page.getByText('This environment has no services').count(), 0);
  fail(undefined);
  await pages.dialog().getByRole('alert').getByText('The list cannot be read.').waitFor();
  t.ok(await bind.isDisabled());
  await page.unroute(/\/services\?/);
  await pages.dialog().getByRole('button', { name: 'Try again' }).click();
  await page.getByLabel('Prefix of the variables').fill('CACHE_');
  await page.getByText(`svc app bind api sessions --prefix CACHE_ --project ${project}`).waitFor();
  await checkAccessibility(t, page, 'bind to a service');
  await pages.dialog().getByRole('button', { name: 'Bind to a service' }).click();
  await pages.button('Unbind sessions').waitFor();
  t.match(await bindings(), [{ service: 'sessions', prefix: 'CACHE_' }]);
  await pages.link('sessions').waitFor();
  await checkAccessibility(t, page, 'bindings');
  await pages.button('New password for sessions').click();
  await pages.dialog().getByRole('button', { name: 'New password' }).click();
  await pages.dialog().waitFor({ state: 'detached' });
  await pages.button('Unbind sessions').click();
  await page.getByText(`svc app unbind api sessions --project ${project}`).waitFor();
  await pages.dialog().getByRole('button', { name: 'Unbind' }).click();
  await page.getByText('This app is not bound to a service.').waitFor();
  t.same(await bindings(), []);
});

t.test('settings and hosts are changed, and an app is deleted once its name is typed', async (t) => {
  const { page, pages } = await visit(t, `${place}/apps/api/settings`);
  interface App {
    replicas: number;
    memory?: string;
    healthPath?: string;
    autoRollback: boolean;
    security: { headers: boolean; csp: string[] | null };
    extraHosts: string[];
  }
  const app = () => platform.json<App>(['app', 'show', 'api', ...flags]);
  await page.getByLabel('Memory limit').fill('much');
  await pages.button('Save 1 change').click();
  t.match(await pages.alert().innerText(), /invalid_value/);
  await page.getByLabel('Memory limit').fill('192Mi');
  await page.getByLabel('Roll back automatically').selectOption('off');
  await page.getByText(`svc app update api --memory 192Mi --auto-rollback off --project ${project}`).waitFor();
  // Another person changes what this form does not.
  await platform.ok(['app', 'update', 'api', '--health-path', '/', ...flags]);
  await pages.button('Save 2 changes').click();
  await page.getByText('The settings are saved.').waitFor();
  t.match(await app(), { memory: '192Mi', autoRollback: false, healthPath: '/' });

  await page.getByLabel('Domains that pages may load from').fill('cdn.example.com');
  await page.getByText(`svc app security set api --csp cdn.example.com --project ${project}`).waitFor();
  await pages.button('Save 1 change').click();
  await pages.button('Save 1 change').waitFor({ state: 'detached' });
  t.match(await app(), { security: { headers: true, csp: ['cdn.example.com'] } });

  // Two people change one setting, and the page has not learned of the first change when it sends the second.
  await page.getByLabel('Number of pods').fill('2');
  let isFirst = true;
  await page.route('**/apps/api?*', async (route) => {
    if (route.request().method() === 'PATCH' && isFirst) {
      isFirst = false;
      await platform.ok(['app', 'update', 'api', '--replicas', '3', '--no-wait', ...flags]);
    }
    await route.continue();
  });
  await pages.button('Save 1 change').click();
  t.match(await pages.alert().innerText(), /Another request changed replicas of the app.*\nCode conflict/s);
  await page.getByText('Someone else changed the values below meanwhile.').waitFor();
  await page.getByText('1 → 3').waitFor();
  await checkAccessibility(t, page, 'two people change one setting');
  await pages.button('Save 1 change').click();
  await page.getByText('1 → 3').waitFor({ state: 'detached' });
  t.match(await app(), { replicas: 2 });

  const host = `${uniqueName('www')}.apps.localhost`;
  await pages.button('Add a host').click();
  await page.getByLabel('Host, such as').fill(host);
  await checkAccessibility(t, page, 'add a host');
  await pages.dialog().getByRole('button', { name: 'Add a host' }).click();
  await pages.row(host).waitFor();
  t.same((await app()).extraHosts, [host]);
  await checkAccessibility(t, page, 'settings');
  await pages.button(`Remove ${host}`).click();
  await pages.dialog().getByRole('button', { name: 'Remove' }).click();
  await pages.row(host).waitFor({ state: 'detached' });
  t.same((await app()).extraHosts, []);

  await pages.button('Delete the app').click();
  const confirm = pages.dialog().getByRole('button', { name: 'Delete the app' });
  t.ok(await confirm.isDisabled());
  await page.getByLabel('Type api to confirm').fill('api');
  await checkAccessibility(t, page, 'delete an app');
  await confirm.click();
  await pages.heading(`${project} / prod`).waitFor();
  await eventually(
    () => platform.json<App[]>(['app', 'list', ...flags]),
    (apps) => apps.length === 0,
  );
  await page.getByText('Nothing runs in this environment yet.').waitFor();
});

t.test('a function requires an API key', async (t) => {
  const file = codeFile(t, 'hello.js', 'exports.handler = async () => ({ statusCode: 200, body: "hi" });');
  await platform.ok(['function', 'create', 'hello', '--runtime', 'node', '--code-file', file, ...flags]);
  const { page, pages } = await visit(t, `${place}/functions/hello`);
  await pages.link('Gate').click();
  await pages.button('Require an API key').click();
  await page.getByText('No key is valid for this function').waitFor();
  await pages.link('Create a key').waitFor();
  t.match(await platform.json(['function', 'gate', 'status', 'hello', ...flags]), { gate: /applying|gated/ });
  await checkAccessibility(t, page, 'gate of a function');
  await pages.button('Stop requiring an API key').click();
  await pages.dialog().getByRole('button', { name: 'Stop requiring an API key' }).click();
  await pages.button('Require an API key').waitFor();
});

t.test('a job is created, and its settings are changed', async (t) => {
  const { page, pages } = await visit(t, place);
  await pages.row('hello').waitFor();
  await pages.link('Create a job').click();
  await page.getByLabel('Name', { exact: true }).fill('report');
  await page.getByLabel('Image with registry').fill(`${image}:v1`);
  await page.getByLabel('Command, one word').fill('echo\nhello there');
  await page.getByLabel('Runs', { exact: true }).selectOption('on a schedule');
  // The next five times.
  await page.getByRole('status').getByRole('listitem').nth(4).waitFor();
  await page.getByLabel('Variables, one').fill(`LEVEL=debug\nHTML="${hostile}"`);
  await page
    .getByText(`svc job create report --image ${image}:v1 --command 'echo "hello there"' --schedule '0 2 * * *'`)
    .waitFor();
  await checkAccessibility(t, page, 'form of a job');
  await page.getByLabel('Time zone').fill('Nowhere/Land');
  await pages.button('Create the job').click();
  await pages.alert().first().waitFor();
  await page.getByLabel('Time zone').fill('');
  await pages.button('Create the job').click();
  await pages.heading('report').waitFor();
  t.match(await platform.json(['job', 'show', 'report', ...flags]), {
    command: ['echo', 'hello there'],
    schedule: '0 2 * * *',
    env: { LEVEL: 'debug', HTML: hostile },
  });

  await pages.link('Settings').click();
  await page.getByLabel('Runs', { exact: true }).selectOption('when a user starts it');
  await page.getByLabel('Retries of a failed run').fill('2');
  await page.getByText(`svc job update report --manual --retries 2 --project ${project}`).waitFor();
  await checkAccessibility(t, page, 'settings of a job');
  await pages.button('Save 2 changes').click();
  await page.getByText('The settings are saved.').waitFor();
  const job = await platform.json<{ retries: number; schedule?: string }>(['job', 'show', 'report', ...flags]);
  t.match([job.retries, job.schedule], [2, undefined]);
});

t.test('on a phone nothing is cut off', async (t) => {
  const { page, pages } = await visit(t, `${place}/new-job`, { width: 360 });
  await pages.button('Create the job').waitFor();
  t.notOk(await overflows(page), 'form of a job');
  await pages.open(`${place}/functions/hello/gate`);
  await pages.button('Require an API key').waitFor();
  t.notOk(await overflows(page), 'gate of a function');
  await pages.open(`${place}/jobs/report/settings`);
  await page.getByLabel('Retries of a failed run').waitFor();
  t.notOk(await overflows(page), 'settings of a job');
});

t.test('what the browser does not copy is selected, and a page that takes long to load says so', async (t) => {
  const { page, pages } = await visit(t, `${place}/functions/hello`);
  await page.getByText('svc function show hello').waitFor();
  await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))");
  await pages.button('Copy command').first().click();
  await page.getByText('Selected', { exact: true }).waitFor();
  t.match(await page.evaluate<string>('getSelection().toString()'), 'svc function pods hello');

  const held = Promise.withResolvers<void>();
  await page.route('**/assets/*.js', async (route) => {
    await held.promise;
    await route.continue();
  });
  await pages.link('Metrics').click();
  await page.getByText('Loading…').waitFor();
  held.resolve();
  await page.getByLabel('Range').waitFor();
});

t.test('no page of these tests had an error, or did what its policy forbids', (t) => {
  t.same(browser.faults, []);
  t.end();
});
