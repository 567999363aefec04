import { readFileSync } from 'node:fs';
import t from 'tap';
import type { Page } from 'playwright-core';
import { brokenWords, checkAccessibility, overflows } from '../../support/console/browser.ts';
import { consolePages } from '../../support/console/pages.ts';
import { startVisitor } from '../../support/console/visitor.ts';
import { codeFile } from '../../support/code-file.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../../support/platform.ts';

const platform = await runningPlatform();
const { api, adminEmail, adminPasswordFile } = platform.info;
const adminPassword = readFileSync(adminPasswordFile, 'utf8').trim();
const { browser, visit } = await startVisitor(t, platform);
const image = 'localhost:5000/svc/hello';

interface Deployment {
  revision: number;
  status: string;
  trigger: string;
  actor?: string;
  current: boolean;
}

const { project, flags } = await testProject(t, platform);
const place = `/projects/${project}/environments/prod`;
const history = () => platform.json<Deployment[]>(['app', 'history', 'api', ...flags]);

/** Moves with the keyboard alone to what has this name. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let steps = 0; steps < 60; steps++) {
    await page.keyboard.press('Tab');
    const label = await page.evaluate<string>(
      `(document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.labels?.[0]?.textContent ?? document.activeElement?.textContent ?? '').trim()`,
    );
    if (label === name) return;
  }
  throw new Error(`the keyboard does not reach "${name}"`);
}

t.test('signing in with the keyboard, and out again', async (t) => {
  const page = await browser.page(t);
  const pages = consolePages(page, api);
  await pages.open();
  await pages.heading('Sign in').waitFor();
  t.equal(pages.path(), '/sign-in');
  await checkAccessibility(t, page, 'sign in');

  await pages.signIn(adminEmail, 'wrong');
  t.match(await pages.alert().innerText(), /password is wrong.*\nCode invalid_credentials · Request ID \S+/s);
  await checkAccessibility(t, page, 'sign in, refused');
  await page.getByLabel('Email address').focus();
  await tabTo(page, 'Password');
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.type(adminPassword);
  await page.keyboard.press('Enter');

  await pages.heading('Projects').waitFor();
  await pages.row(project).waitFor();
  await checkAccessibility(t, page, 'projects');
  const [cookie] = (await page.context().cookies()).filter(({ name }) => name.endsWith('svc_session'));
  t.match(cookie, { httpOnly: true, sameSite: 'Strict' });
  t.equal(await page.evaluate('document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })'), '{}');

  await pages.signOut();
  await pages.heading('Sign in').waitFor();
  const { status } = await platform.request(`${api}/api/v1/session`, {
    headers: { cookie: `${cookie?.name}=${cookie?.value}` },
  });
  t.equal(status, 401, 'the session has ended');
});

t.test('an environment shows its workloads, deployments and rollbacks, and hostile text stays text', async (t) => {
  const { page, pages } = await visit(t, place);
  await pages.heading(`${project} / prod`).waitFor();
  await page.getByText('Nothing runs in this environment yet.').waitFor();
  await page.getByText('There are no services or volumes.').waitFor();
  await checkAccessibility(t, page, 'empty environment');

  await platform.ok(['app', 'create', 'api', '--image', `${image}:v1`, ...flags]);
  const file = codeFile(t, 'hello.js', 'exports.handler = async () => ({ statusCode: 200, body: "hi" });');
  await platform.ok(['function', 'create', 'hello', '--runtime', 'node', '--code-file', file, ...flags]);
  await platform.ok(['service', 'create', 'orders', '--type', 'redis', ...flags]);
  // Nothing is clicked: the page learns of them by itself.
  await pages.row('api').getByText('running').waitFor();
  await pages.row('hello').waitFor();
  await pages.row('orders').waitFor();
  await checkAccessibility(t, page, 'environment');

  const commit = '<img src=x onerror=alert(1)>';
  await platform.ok(['app', 'update', 'api', '--image', `${image}:v2`, '--commit', commit, ...flags]);
  await pages.link('api').click();
  await pages.heading('api').waitFor();
  await page.getByText(`${image}:v2`).waitFor();
  await checkAccessibility(t, page, 'app');
  await pages.link('Deployments').click();
  t.equal(pages.path(), `${place}/apps/api/deployments`);
  await pages.deployment(2).getByText('current').waitFor();
  t.match(await pages.deployment(2).innerText(), commit.slice(0, 12));
  await checkAccessibility(t, page, 'deployments');

  await pages.button('Rollback to revision 1').click();
  const dialog = pages.dialog();
  t.match(await dialog.innerText(), `svc app rollback api --revision 1 --project ${project} --environment prod`);
  await checkAccessibility(t, page, 'rollback');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  t.equal((await history()).length, 2, 'nothing was requested');
  t.equal(
    await page.evaluate(`document.activeElement?.getAttribute('aria-label')`),
    'Rollback to revision 1',
    'the focus is back',
  );
  await page.keyboard.press('Enter');
  await dialog.getByRole('button', { name: 'Roll back to revision 1' }).click();
  await page.getByText('The rollback is accepted as revision 3.').waitFor();
  await pages.deployment(3).getByText('current').waitFor();
  t.match((await history())[0], { revision: 3, trigger: 'rollback', actor: adminEmail, current: true });

  await pages.button('Restart').click();
  await page.getByText('The restart is accepted as revision 4.').waitFor();
  await pages.deployment(4).getByText('current').waitFor();
  t.match((await history())[0], { revision: 4, trigger: 'restart', status: 'succeeded', current: true });
});

t.test('variables are edited as a .env file, and secrets are shown only on request', async (t) => {
  const { page, pages } = await visit(t, `${place}/apps/api/variables`);
  await page.getByText('This app has no variables.').waitFor();
  await page.getByText('This app has no secrets.').waitFor();
  const env = () => platform.json<{ variables: Record<string, string> }>(['app', 'env', 'list', 'api', ...flags]);

  await pages.button('Edit variables').click();
  await page.getByLabel('One NAME=value on each line').fill('# pasted\nLOG_LEVEL=debug\nexport HTML="<img src=x>"\n?');
  t.match(await pages.alert().innerText(), 'These lines are no variable: 4.');
  t.ok(await pages.button('Save 2 changes').isDisabled());
  await page.keyboard.press('Backspace');
  // Another person changes one that is not in this text.
  await platform.ok(['app', 'env', 'set', 'api', 'OTHER=kept', ...flags]);
  await page.getByText('Someone else changed the values below meanwhile.').waitFor();
  await checkAccessibility(t, page, 'editor of variables');
  await pages.button('Save 2 changes').click();
  await pages.row('HTML').getByText('<img src=x>').waitFor();
  t.same((await env()).variables, { LOG_LEVEL: 'debug', HTML: '<img src=x>', OTHER: 'kept' });

  await pages.button('Set a secret').click();
  await page.getByLabel('Name', { exact: true }).fill('TOKEN');
  await page.getByLabel('Value', { exact: true }).fill('not-for-everyone');
  await checkAccessibility(t, page, 'set a secret');
  await pages.button('Save secret').click();
  await pages.row('TOKEN').waitFor();
  t.notMatch(await page.content(), 'not-for-everyone');
  await pages.button('Reveal TOKEN').click();
  await pages.dialog().getByRole('button', { name: 'Reveal', exact: true }).click();
  await page.getByText('not-for-everyone').waitFor();
  await pages.button('Close').click();
  await checkAccessibility(t, page, 'variables and secrets');
  await pages.button('Delete TOKEN').click();
  await pages.dialog().getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('This app has no secrets.').waitFor();
  t.same(await platform.json(['app', 'secret', 'list', 'api', ...flags]), []);
});

t.test('a narrow screen shows everything without scrolling sideways', async (t) => {
  const { page, pages } = await visit(t, place, { width: 360 });
  await pages.row('api').waitFor();
  t.notOk(await overflows(page), 'environment');
  for (const width of [360, 768]) {
    await page.setViewportSize({ width, height: 900 });
    t.same(await brokenWords(page), [], `words of the environment are whole at ${width} px`);
  }
  await page.setViewportSize({ width: 360, height: 900 });
  await pages.open(`${place}/apps/api/deployments`);
  await pages.deployment(1).waitFor();
  t.notOk(await overflows(page), 'deployments');
  await checkAccessibility(t, page, 'deployments on a phone');
  await pages.open('/');
  await pages.row(project).waitFor();
  t.notOk(await overflows(page), 'projects');
});

t.test('a viewer sees no button that the API would refuse', async (t) => {
  const email = `${uniqueName('viewer')}@svc.local`;
  const password = uniqueName('a-long-passphrase-');
  await platform.ok(['user', 'create', email, '--password-stdin'], password);
  await platform.ok(['member', 'set', email, '--role', 'viewer', '--project', project]);
  const page = await browser.page(t);
  const pages = consolePages(page, api);
  await pages.open(`${place}/apps/api/deployments`);
  await pages.signIn(email, password);
  await pages.deployment(1).waitFor();
  await eventually(
    () => page.getByRole('button').allInnerTexts(),
    (names) => !names.includes('Loading…'),
  );
  t.same(await page.getByRole('button').allInnerTexts(), ['Search', 'Assistant', 'Sign out', 'Copy']);
  await pages.open(`${place}/apps/api/variables`);
  await pages.row('LOG_LEVEL').waitFor();
  await page.getByText('This app has no secrets.').waitFor();
  await page.getByText('This app is not bound to a service.').waitFor();
  t.same(await page.getByRole('button').allInnerTexts(), ['Search', 'Assistant', 'Sign out', 'Copy', 'Copy', 'Copy']);

  // Without a role, the project does not exist for the user.
  await platform.ok(['member', 'remove', email, '--project', project, '--yes']);
  await page.reload();
  t.match(await pages.alert().first().innerText(), /not_found/);
});

t.test('one who signed in with a one-time password chooses a new one first', async (t) => {
  const email = `${uniqueName('newcomer')}@svc.local`;
  const { oneTimePassword } = await platform.json<{ oneTimePassword: string }>(['user', 'create', email]);
  const page = await browser.page(t);
  const pages = consolePages(page, api);
  await pages.open();
  await pages.signIn(email, oneTimePassword);
  await pages.heading('Choose a new password').waitFor();
  await checkAccessibility(t, page, 'new password');
  const password = uniqueName('a-long-passphrase-');
  await page.getByLabel('One-time password').fill(oneTimePassword);
  await page.getByLabel('New password', { exact: true }).fill(password);
  await page.getByLabel('Repeat the new password').fill('another');
  await pages.button('Save password').click();
  t.match(await pages.alert().innerText(), /differ/);
  await page.getByLabel('Repeat the new password').fill(password);
  await pages.button('Save password').click();
  await pages.heading('Projects').waitFor();
  await page.getByText('You have no projects yet.').waitFor();
  await checkAccessibility(t, page, 'no projects');
});

t.test('addresses that lead nowhere, or elsewhere, stay in the console', async (t) => {
  const { page, pages } = await visit(t, '/sign-in?next=%2F%2Fevil.example%2Fphish', { session: 'own' });
  await pages.heading('Projects').waitFor();
  t.equal(new URL(page.url()).origin, new URL(api).origin);
  await pages.open('/nowhere');
  await pages.heading('Page not found').waitFor();
  await checkAccessibility(t, page, 'not found');
  await pages.open(`${place}/apps/missing`);
  t.match(await pages.alert().first().innerText(), /not_found/);
  t.match((await platform.request(`${api}/assets/main.js`)).status, 404);
});

t.test('no page of these tests had an error, or did what its policy forbids', (t) => {
  t.same(browser.faults, []);
  t.end();
});
