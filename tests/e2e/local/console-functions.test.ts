import { hash } from 'node:crypto';
import t from 'tap';
import { codeFile } from '../../support/code-file.ts';
import { checkAccessibility, overflows } from '../../support/console/browser.ts';
import { startVisitor } from '../../support/console/visitor.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../../support/platform.ts';

const platform = await runningPlatform();
const { browser, visit } = await startVisitor(t, platform);
const { project, flags } = await testProject(t, platform);
const place = `/projects/${project}/environments/prod`;
const hostile = '<img src=x onerror=alert(1)>';

const tickCode = `export function handler() {
  console.log(${JSON.stringify(hostile)}, process.env.SVC_TRIGGER, process.env.LEVEL);
}`;

/** Puts an item into the list that calls it, and refuses the item. */
const workCode = `import { connect } from 'node:net';
export async function handler(event) {
  if (event?.refuse) return { statusCode: 400, body: ${JSON.stringify(hostile)} };
  const { REDIS_HOST: host, REDIS_PORT: port, REDIS_USERNAME: user, REDIS_PASSWORD: password } = process.env;
  const item = ${JSON.stringify(JSON.stringify({ refuse: hostile }))};
  const command = (words) => '*' + words.length + '\\r\\n' + words.map((word) => '$' + word.length + '\\r\\n' + word + '\\r\\n').join('');
  const socket = connect(Number(port), host);
  socket.write(command(['AUTH', user, password]) + command(['RPUSH', 'work', item]) + command(['QUIT']));
  let reply = '';
  for await (const part of socket) reply += part;
  return { body: reply };
}`;

/** Answers `one`, or what a request with a body has. */
const greetCode = `export const handler = (event, { method, path, query, headers }) =>
  method === 'GET'
    ? { body: 'one' }
    : {
        statusCode: 201,
        headers: { 'set-cookie': ['a=1', 'b=2'], 'x-hostile': ${JSON.stringify(hostile)} },
        body: { method, path, query, trace: headers['x-trace'], host: headers.host, event },
      };
`;

t.test('a cron function shows its schedule, and a test run its log', async (t) => {
  const code = codeFile(t, 'tick.mjs', tickCode);
  const schedule = ['--trigger', 'cron', '--schedule', '0 2 * * 1', '--time-zone', 'Europe/Berlin'];
  await platform.ok(['function', 'create', 'tick', '--code-file', code, ...schedule, ...flags]);
  const { page, pages } = await visit(t, place);
  await pages.link('tick').click();
  await pages.heading('tick').waitFor();
  await page.getByText('At 02:00, only on Monday').waitFor();
  await page.getByText('Europe/Berlin').waitFor();
  t.equal(await page.getByText(/2:00:00 AM GMT\+[12]$/).count(), 5, 'the next five times');
  await checkAccessibility(t, page, 'cron function');

  await pages.link('Runs').click();
  await page.getByText('No run is stored.').waitFor();
  await checkAccessibility(t, page, 'no runs');
  await pages.button('Test run').click();
  await page.getByText(/The test run tick-test-\w+ is requested\./).waitFor();
  const log = page.getByRole('region', { name: /^Log of tick-test-/ });
  await log.getByText(`${hostile} test`).waitFor();
  const [run] = await platform.json<{ name: string; trigger: string }[]>(['function', 'runs', 'tick', ...flags]);
  t.equal(run?.trigger, 'test');
  t.equal(new URL(page.url()).searchParams.get('run'), run?.name, 'the log has an address');
  await pages
    .row(run?.name ?? '')
    .getByText('succeeded')
    .waitFor();
  await checkAccessibility(t, page, 'log of a run');
  await pages.button('Hide the log').click();
  await log.waitFor({ state: 'detached' });

  await pages.link('Variables').click();
  await page.getByText('This function has no variables.').waitFor();
  await pages.button('Edit variables').click();
  await page.getByLabel('One NAME=value on each line').fill('LEVEL=debug');
  await pages.button('Save 1 change').click();
  await pages.row('LEVEL').getByText('debug').waitFor();
  const { variables } = await platform.json<{ variables: object }>(['function', 'env', 'list', 'tick', ...flags]);
  t.same(variables, { LEVEL: 'debug' });
  await pages.button('Set a secret').click();
  await page.getByLabel('Name', { exact: true }).fill('TOKEN');
  await page.getByLabel('Value', { exact: true }).fill('not-for-everyone');
  await pages.button('Save secret').click();
  await pages.row('TOKEN').waitFor();
  t.match(await platform.json(['function', 'secret', 'list', 'tick', ...flags]), [{ name: 'TOKEN' }]);
  t.notMatch(await page.content(), 'not-for-everyone');

  await pages.link('Settings').click();
  await pages.button('Delete this function').click();
  const confirm = pages.dialog().getByRole('button', { name: 'Delete', exact: true });
  t.ok(await confirm.isDisabled());
  await page.getByLabel('Type tick to confirm').fill('tick');
  await checkAccessibility(t, page, 'delete a function');
  await confirm.click();
  await pages.heading(`${project} / prod`).waitFor();
  await pages.row('tick').waitFor({ state: 'detached' });
  t.same(await platform.json(['function', 'list', ...flags]), []);
});

t.test('a function is created from code, and changed after its differences are shown', async (t) => {
  const { page, pages } = await visit(t, place);
  const shown = () => platform.json<Record<string, unknown>>(['function', 'show', 'greet', ...flags]);
  await pages.link('Create a function').click();
  await pages.heading('Create a function').waitFor();
  await page.getByLabel('Name', { exact: true }).fill('Greet');
  await page.getByText('Tab leaves the editor.').waitFor();
  await page.getByLabel('Code', { exact: true }).fill('export const handler = (;');
  await page.getByText('Syntax error in line 1.').waitFor();
  await checkAccessibility(t, page, 'code with an error');
  await page.keyboard.press('Control+f');
  await page.getByLabel('Find', { exact: true }).waitFor();
  await checkAccessibility(t, page, 'search in code');
  await page.keyboard.press('Escape');
  await page.getByLabel('Code', { exact: true }).fill(greetCode);
  await page.getByText('Syntax error').waitFor({ state: 'detached' });
  await page.getByLabel('Code', { exact: true }).press('Tab');
  t.equal(await page.getByLabel('Dependencies').and(page.locator(':focus')).count(), 1, 'Tab leaves the editor');
  await pages.button('Create a function').click();
  t.match(await pages.alert().innerText(), /Code \w+ · Request ID/);
  await checkAccessibility(t, page, 'a refused function');
  await page.getByLabel('Name', { exact: true }).fill('greet');
  await page.getByLabel('Trigger').selectOption('cron');
  await page.getByLabel('Common schedules').selectOption('Monday 09:00 UTC');
  await page.getByText('At 09:00, only on Monday').waitFor();
  t.equal(await page.getByText(/9:00:00 AM UTC$/).count(), 5, 'the next five times');
  await checkAccessibility(t, page, 'form of a function');
  await page.getByLabel('Trigger').selectOption('http');
  await page.getByLabel('Idle time-out').fill('60');
  await pages.button('Create a function').click();
  await pages.heading('greet').waitFor();
  t.match(await shown(), { runtime: 'node', trigger: 'http', idleTimeoutSeconds: 60, maxReplicas: 10 });
  const { url } = (await shown()) as { url: string };
  const answers = (text: string) =>
    eventually(
      () => platform.request(url),
      ({ body }) => body === text,
    );
  await answers('one');

  await pages.link('Invoke').click();
  await page.getByLabel('Method').selectOption('POST');
  await page.getByLabel('Path and query').fill('/a?b=1');
  await page.getByLabel('Headers').fill('x-trace: 1');
  await page.getByLabel('Body', { exact: true }).fill(`-${hostile}'$(id)`);
  const command = await page.getByText(/^svc function invoke greet/).innerText();
  t.match(
    command,
    String.raw`greet --method POST --path '/a?b=1' --header 'x-trace: 1' '--data=-${hostile}'\''$(id)' --project ${project}`,
  );
  await pages.button('Send').click();
  const answer = page.getByRole('region', { name: 'Answer', exact: true });
  await answer.getByText(/^after \d/).waitFor();
  t.match(await answer.getByRole('status').innerText(), /^201\s/);
  t.same(JSON.parse(await page.getByRole('region', { name: 'Body of the answer' }).innerText()), {
    method: 'POST',
    path: '/a',
    query: { b: '1' },
    trace: '1',
    host: new URL(url).host.replace(/:\d+$/, ''),
    event: `-${hostile}'$(id)`,
  });
  await answer.getByText(/^\d+ headers$/).click();
  t.equal(await answer.getByText('set-cookie', { exact: true }).count(), 2);
  await answer.getByText(hostile, { exact: true }).waitFor();
  await checkAccessibility(t, page, 'invoke a function');

  await pages.link('Settings').click();
  t.ok(await pages.button('Review changes').isDisabled());
  await page.getByLabel('Code', { exact: true }).fill(`export const handler = () => ({ body: 'two' });\n`);
  await page.getByLabel('Maximum number of pods').fill('3');
  await pages.button('Review changes').click();
  const changes = pages.dialog().getByRole('list', { name: 'Changes' });
  t.match(
    await changes.innerText(),
    /Code\n- the current code\n\+ export const handler.*'two'.*Maximum number of pods\n- 10\n\+ 3/s,
  );
  await checkAccessibility(t, page, 'differences of a function');
  t.match(await shown(), { maxReplicas: 10 }, 'nothing was sent');
  await pages.button('Save 2 changes').click();
  await page.getByText('The changes are saved.').waitFor();
  t.match(await shown(), { maxReplicas: 3, idleTimeoutSeconds: 60 });
  await answers('two');
  await checkAccessibility(t, page, 'settings of a function');
});

t.test('code can be written without the editor', async (t) => {
  const { page, pages } = await visit(t, place);
  const isRefused = page.waitForResponse((response) => /\/code-editor-[^/]+\.js$/.test(response.url()));
  await page.route(/\/code-editor-[^/]+\.js$/, (route) => route.fulfill({ status: 404 }));
  await pages.link('Create a function').click();
  await isRefused;
  await page.getByLabel('Name', { exact: true }).fill('plain');
  await page.getByLabel('Runtime').selectOption('python');
  await page.getByLabel('Code', { exact: true }).fill(`def handler(event, context=None):\n    return "plain"\n`);
  await checkAccessibility(t, page, 'form of a function without the editor');
  await pages.button('Create a function').click();
  await pages.heading('plain').waitFor();
  const shown = await platform.json<{ codeDigest: string }>(['function', 'show', 'plain', ...flags]);
  t.equal(shown.codeDigest, hash('sha256', `def handler(event, context=None):\n    return "plain"\n`));
});

t.test('dead letters of a function are redriven and purged', async (t) => {
  await platform.ok(['service', 'create', 'cache', '--type', 'redis', ...flags]);
  const code = codeFile(t, 'work.mjs', workCode);
  const triggers = ['--trigger', 'http', '--trigger', 'redis', '--source', 'cache', '--list', 'work'];
  const { url } = await platform.json<{ url: string }>([
    ...['function', 'create', 'work', '--code-file', code],
    ...[...triggers, ...flags],
  ]);
  const { page, pages } = await visit(t, `${place}/functions/work/events`);
  await page.getByText('There are no dead letters.').waitFor();
  await page.getByText('No event is pending.').waitFor();
  await checkAccessibility(t, page, 'no events');
  await eventually(
    () => platform.request(url),
    ({ status, body }) => status === 200 && body.includes(':1'),
  );

  const redrive = page.getByRole('button', { name: /^Redrive \S+$/ }).filter({ hasText: /^Redrive$/ });
  await redrive.waitFor();
  await page.getByText('Content', { exact: true }).last().click();
  await page.getByText(JSON.stringify({ refuse: hostile })).waitFor();
  await checkAccessibility(t, page, 'dead letters');
  const letters = () =>
    platform.json<{ id: string; deadAt: string }[]>(['function', 'dead-letters', 'list', 'work', ...flags]);
  const [before] = await letters();
  await redrive.click();
  await checkAccessibility(t, page, 'redrive a dead letter');
  await pages.dialog().getByRole('button', { name: 'Redrive', exact: true }).click();
  await page.getByText('1 event is delivered again.').waitFor();
  // It is refused again.
  await eventually(letters, ([letter]) => letter !== undefined && letter.deadAt !== before?.deadAt);

  await pages.button('Purge all').click();
  t.match(await pages.dialog().innerText(), /svc function dead-letters purge work --all/);
  await pages.dialog().getByRole('button', { name: 'Purge', exact: true }).click();
  await page.getByText('There are no dead letters.').waitFor();
  t.same(await letters(), []);

  await pages.link('Overview').click();
  await page.getByText('HTTP requests, items of a Redis list').waitFor();
  await checkAccessibility(t, page, 'function');
  const restarted = page.waitForResponse((response) => response.url().includes('/functions/work/restart'));
  await pages.button('Restart').click();
  t.equal((await restarted).status(), 200);
  await page.getByText('The pods are being replaced, one by one.').waitFor();
});

t.test('a job is started, suspended and resumed', async (t) => {
  const run = ['--image', 'localhost:5000/svc/hello:v1', '--command', 'node', '--command', '-e'];
  const say = ['--command', `console.log(${JSON.stringify(hostile)})`];
  await platform.ok(['job', 'create', 'report', ...run, ...say, '--schedule', '0 3 * * *', ...flags]);
  const show = () => platform.json<{ suspended: boolean }>(['job', 'show', 'report', ...flags]);
  const { page, pages } = await visit(t, place);
  await pages.link('report').click();
  await page.getByText('At 03:00').waitFor();
  await checkAccessibility(t, page, 'job');
  await pages.link('Runs').click();
  await pages.button('Start now').click();
  await page
    .getByRole('region', { name: /^Log of report-/ })
    .getByText(hostile, { exact: true })
    .waitFor();
  const [first] = await platform.json<{ name: string }[]>(['job', 'runs', 'report', ...flags]);
  await pages
    .row(first?.name ?? '')
    .getByText('succeeded')
    .waitFor();
  await checkAccessibility(t, page, 'runs of a job');

  await pages.link('Settings').click();
  await pages.button('Suspend the schedule').click();
  await pages.button('Resume the schedule').waitFor();
  t.equal((await show()).suspended, true);
  await checkAccessibility(t, page, 'settings of a job');
  await pages.button('Resume the schedule').click();
  await pages.button('Suspend the schedule').waitFor();
  t.equal((await show()).suspended, false);
  await pages.link('Variables').click();
  await page.getByText('This job has no variables.').waitFor();
});

t.test('on a phone nothing is cut off, and a viewer sees no button that the API would refuse', async (t) => {
  const user = { email: `${uniqueName('viewer')}@svc.local`, password: uniqueName('a-long-passphrase-') };
  await platform.ok(['user', 'create', user.email, '--password-stdin'], user.password);
  await platform.ok(['member', 'set', user.email, '--role', 'viewer', '--project', project]);
  const { page, pages } = await visit(t, `${place}/jobs/report/runs`, { width: 360, user });
  const shown = async () => {
    t.notOk(await overflows(page), page.url());
    const names = await page.getByRole('button').allInnerTexts();
    return names.filter((name) => !['Search', 'Assistant', 'Sign out', 'Copy', 'Log'].includes(name));
  };
  await page.getByRole('rowheader', { name: /^report-/ }).waitFor();
  t.same(await shown(), []);
  await pages.open(place);
  await pages.row('work').waitFor();
  t.equal(await pages.link('Create a function').count(), 0);
  await pages.open(`${place}/jobs/report/settings`);
  await page.getByText('Only deployers and admins').waitFor();
  t.same(await shown(), []);
  for (const [tab, text] of [
    ['', 'Event source'],
    ['/invoke', 'Path and query'],
    ['/events', 'No event is pending.'],
    ['/variables', 'This function has no secrets.'],
    ['/settings', 'Only deployers and admins'],
  ] as const) {
    await pages.open(`${place}/functions/work${tab}`);
    await page.getByText(text).waitFor();
    t.same(await shown(), []);
  }
  await pages.open(`${place}/jobs/missing`);
  t.match(await pages.alert().first().innerText(), /not_found/);
});

t.test('no page of these tests had an error, or did what its policy forbids', (t) => {
  t.same(browser.faults, []);
  t.end();
});
