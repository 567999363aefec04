import type { Page } from 'playwright-core';
import t from 'tap';
import { checkAccessibility, overflows } from '../../support/console/browser.ts';
import { gitServer } from '../../support/git-server.ts';
import { startVisitor } from '../../support/console/visitor.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../../support/platform.ts';

const platform = await runningPlatform();
const { browser, visit } = await startVisitor(t, platform);
const { project, flags } = await testProject(t, platform);
await platform.ok(['app', 'create', 'api', '--image', 'localhost:5000/svc/hello:v1', ...flags]);
const place = `/projects/${project}/environments/prod`;

interface Key {
  handle: string;
  name?: string;
  plan: string;
  enabled: boolean;
  expiresAt?: string;
  replacedBy?: string;
}

/** A user with this role in the project. */
async function member(role: string) {
  const user = { email: `${uniqueName(role)}@svc.local`, password: uniqueName('a-long-passphrase-') };
  await platform.ok(['user', 'create', user.email, '--password-stdin'], user.password);
  await platform.ok(['member', 'set', user.email, '--role', role, '--project', project]);
  return user;
}

/** Does something when a page sends its next change, before that arrives. */
async function whileSaving(page: Page, url: RegExp, act: () => Promise<unknown>): Promise<void> {
  let isDone = false;
  await page.route(url, async (route) => {
    if (!isDone && route.request().method() === 'PATCH') {
      isDone = true;
      await act();
    }
    await route.continue();
  });
}

const keys = () => platform.json<Key[]>(['key', 'list', ...flags]);
const hostile = '<img src=x onerror=alert(1)>';

t.test('plans are created, changed and deleted', async (t) => {
  const { page, pages } = await visit(t, `${place}/plans`);
  const plans = () =>
    platform.json<{ name: string; requestsPerSecond: number; burst: number; quota?: unknown }[]>([
      'plan',
      'list',
      ...flags,
    ]);
  await page.getByText('This environment has no plans.').waitFor();
  await checkAccessibility(t, page, 'no plans');
  for (const name of ['small', 'large']) {
    await pages.button('Create a plan').click();
    await page.getByLabel('Name', { exact: true }).fill(name);
    await page.getByLabel('Requests per second').fill('2.5');
    await pages.dialog().getByRole('button', { name: 'Create a plan' }).click();
    await pages.row(name).waitFor();
  }
  await page.getByText(/^applied on \d+ of \d+ replicas? after \d\.\d s$/).waitFor();

  await pages.button('Edit large').click();
  await page.getByLabel('Maximum burst').fill('50');
  await page.getByLabel('Requests per period').fill('1000');
  await page.getByLabel('Period, in UTC').selectOption('month');
  await checkAccessibility(t, page, 'edit a plan');
  await pages.button('Save').click();
  await pages.row('large').getByText('1,000 per month').waitFor();
  const [large] = (await plans()).filter(({ name }) => name === 'large');
  t.match(large, { requestsPerSecond: 2.5, burst: 50, quota: { limit: 1000, period: 'month' } });

  // Another person changes the same limit while the form is open, and again just before it is saved.
  const burstOf = async () => (await plans()).find(({ name }) => name === 'large')?.burst;
  const setBurst = (burst: string) => platform.ok(['plan', 'update', 'large', '--burst', burst, ...flags]);
  await pages.button('Edit large').click();
  await page.getByLabel('Maximum burst').fill('60');
  await setBurst('70');
  await pages.dialog().getByText('50 → 70').waitFor();
  await whileSaving(page, /\/plans\/[^/]+\?/, () => setBurst('80'));
  await pages.button('Save').click();
  await pages.dialog().getByRole('alert').getByText('conflict').waitFor();
  await pages.dialog().getByText('50 → 80').waitFor();
  t.equal(await burstOf(), 80);
  await checkAccessibility(t, page, 'a plan that another person changed');
  await pages.button('Save').click();
  await pages.dialog().waitFor({ state: 'detached' });
  t.equal(await burstOf(), 60, 'what the user has seen is replaced');

  await pages.button('Delete large').click();
  await pages.dialog().getByRole('button', { name: 'Delete', exact: true }).click();
  await pages.row('large').waitFor({ state: 'detached' });
  t.same(
    (await plans()).map(({ name }) => name),
    ['small'],
  );
});

t.test('a key is shown once, changed, disabled, rotated and revoked', async (t) => {
  const { page, pages } = await visit(t, `${place}/keys`);
  await pages.button('Create a key').click();
  await page.getByLabel('Name, such as').fill(hostile);
  await page.getByLabel('Last day in UTC').fill(new Date(Date.now() + 5 * 86_400_000).toISOString().slice(0, 10));
  await checkAccessibility(t, page, 'create a key');
  await pages.dialog().getByRole('button', { name: 'Create a key' }).click();
  const dialog = page.getByRole('dialog', { name: 'Copy the key now' });
  await dialog.getByText(/^applied on/).waitFor();
  const shown = (await dialog.getByRole('code').innerText()).trim();
  await checkAccessibility(t, page, 'a new key');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  t.ok(await dialog.isVisible(), 'Escape does not close what is shown once');
  await pages.button('I have stored the key').click();
  const [key] = await keys();
  if (!key) throw new Error('there is no key');
  const { handle } = key;
  t.match(key, { name: hostile, plan: 'small', enabled: true });
  t.match(shown, new RegExp(`^svc_${handle}`));
  t.notMatch(await page.content(), shown);
  const row = pages.row(handle);
  await row.getByText(`expires ${key.expiresAt?.slice(0, 10)}`).waitFor();
  await checkAccessibility(t, page, 'keys');

  await pages.link(handle).click();
  await pages.heading(hostile).waitFor();
  await page.getByText('There were no requests with this key.').waitFor();
  await pages.button('Disable').click();
  await page.getByText(/^disabled on \d+ of \d+ replicas? after \d\.\d s$/).waitFor();
  t.match(await keys(), [{ enabled: false }]);
  await checkAccessibility(t, page, 'a key that is disabled');
  await pages.button('Enable').click();
  await page.getByText(/^enabled on/).waitFor();

  // The list has many other plans, on two pages, and not yet that of the key.
  await page.route('**/plans?*', (route) => {
    const isLast = new URL(route.request().url()).searchParams.has('cursor');
    return route.fulfill({ json: isLast ? { items: [{ name: 'z' }] } : { items: [{ name: 'a' }], nextCursor: 'x' } });
  });
  await pages.button('Edit').click();
  await page.getByRole('option', { name: 'z', exact: true }).waitFor({ state: 'attached' });
  t.equal(await page.getByLabel('Plan', { exact: true }).inputValue(), 'small');
  t.same(await page.getByRole('option').allInnerTexts(), ['small', 'a', 'z']);
  await page.unroute('**/plans?*');
  await page.getByLabel('Name, such as').fill('');
  await page.getByLabel('Only clients in these networks').fill('192.0.2.0/24, 198.51.100.7');
  // Another person changes what this form does not.
  await platform.ok(['key', 'disable', handle, ...flags]);
  // And, at the same moment, the name.
  await whileSaving(page, /\/api-keys\/[^/]+\?/, () =>
    platform.ok(['key', 'update', handle, '--name', 'by another', ...flags]),
  );
  await pages.button('Save').click();
  await pages.dialog().getByRole('alert').getByText('conflict').waitFor();
  await pages.dialog().getByText(`${hostile} → by another`).waitFor();
  t.match(await keys(), [{ name: 'by another' }]);
  await pages.button('Save').click();
  await pages.heading(handle).waitFor();
  t.match(await keys(), [{ enabled: false, allowedCidrs: ['192.0.2.0/24', '198.51.100.7/32'] }]);

  t.equal(await pages.button('Rotate').count(), 0, 'a key that is disabled cannot be rotated');
  await pages.button('Enable').click();
  await pages.button('Rotate').click();
  await page.getByLabel('How long the old key stays valid').selectOption('It ends at once');
  await pages.dialog().getByRole('button', { name: 'Rotate' }).click();
  await page.getByText(`The old key ${handle} expires on`).waitFor();
  await pages.button('I have stored the key').click();
  await page.getByText('expired', { exact: true }).waitFor();
  const successor = (await keys()).find(({ replacedBy }) => replacedBy !== undefined)?.replacedBy ?? '';
  await pages.link(successor).click();
  await pages.heading(successor).waitFor();

  await pages.button('Revoke').click();
  await checkAccessibility(t, page, 'revoke a key');
  await pages.dialog().getByRole('button', { name: 'Revoke' }).click();
  await pages.heading('API keys').waitFor();
  await pages.row(successor).waitFor({ state: 'detached' });
  t.same(
    (await keys()).map((each) => each.handle),
    [handle],
  );
});

t.test('an app requires an API key, and the page says when it is protected', async (t) => {
  const { url } = await platform.json<{ url: string }>(['app', 'show', 'api', ...flags]);
  const gate = async () => (await platform.json<{ gate: string }>(['app', 'gate', 'status', 'api', ...flags])).gate;
  const key = await platform.ok(['key', 'create', '--plan', 'small', '--name', 'customer', '--app', 'api', ...flags]);
  const { page, pages } = await visit(t, `${place}/apps/api`);
  await pages.link('Gate').click();
  t.equal(pages.path(), `${place}/apps/api/gate`);
  await page.getByText('off', { exact: true }).waitFor();
  // The phase can be over before the page reads it.
  const phase = { gate: 'applying', since: new Date().toISOString(), message: `${hostile} is open.` };
  await page.route('**/apps/api/gate?*', (route) =>
    route.request().method() === 'GET' ? route.fulfill({ json: phase }) : route.continue(),
  );
  // A page that is loaded again cancels a change that the API has not answered.
  const accepted = page.waitForResponse((response) => response.request().method() === 'PUT' && response.ok());
  await pages.button('Require an API key').click();
  await accepted;
  await page.getByText('Not yet protected: requests without a key still reach the app.').waitFor();
  await page.getByText(phase.message).waitFor();
  await checkAccessibility(t, page, 'a gate that is being applied');
  await page.unroute('**/apps/api/gate?*');
  // The event of the last change can have come before.
  await page.reload();
  await page.getByText('The ingress refuses requests without an API key.').waitFor();
  t.equal(await gate(), 'gated');
  t.equal((await platform.request(url)).status, 401);
  await eventually(
    () => platform.request(url, { headers: { 'x-api-key': key } }),
    ({ status }) => status === 200,
  );

  const handle = key.split('_')[1] ?? '';
  await eventually(
    () => platform.json<{ totals: { allowed: number } }>(['key', 'usage', handle, ...flags]),
    ({ totals }) => totals.allowed > 0,
  );
  await pages.link('Keys').click();
  await pages.row(handle).getByRole('link').click();
  await page.getByText('Allowed: 1').waitFor();
  await page.getByText('Show as a table').click();
  await page.getByRole('rowheader', { name: /^\d{4}-\d{2}-\d{2}$/ }).waitFor();
  await checkAccessibility(t, page, 'the usage of a key');

  await pages.open(`${place}/apps/api/gate`);
  await pages.button('Stop requiring an API key').click();
  await pages.dialog().getByText(`Everybody who can reach ${url}`).waitFor();
  await pages.dialog().getByRole('button', { name: 'Stop requiring an API key' }).click();
  await page.getByText('off', { exact: true }).waitFor();
  t.equal((await platform.request(url)).status, 200);
});

interface Delivery {
  id: string;
  sender: string;
  verdict: string;
  redeliveryOf?: string;
}

t.test('a webhook is enabled, called, redelivered, tested and disabled', async (t) => {
  const { page, pages } = await visit(t, `${place}/apps/api`);
  const status = () =>
    platform.json<{ enabled: boolean; token?: string; url: string; tags?: string; hasSecretUrl?: boolean }>([
      ...['app', 'webhook', 'status', 'api', ...flags],
    ]);
  const deliveries = () => platform.json<Delivery[]>(['app', 'webhook', 'deliveries', 'api', ...flags]);
  const secrets = page.getByRole('dialog', { name: 'Token and signing secret' });
  await pages.link('Webhook').click();
  await page.getByText('There were no deliveries in the last 30 days.').waitFor();
  await pages.button('Enable the webhook').click();
  const token = (await secrets.getByRole('code').first().innerText()).trim();
  const { url, ...enabled } = await status();
  t.match(enabled, { enabled: true, token });
  await pages.button('Close').click();
  t.notMatch(await page.content(), token);
  await page.getByText('Bitbucket', { exact: true }).waitFor();
  await page.getByText('GitHub', { exact: true }).click();
  await page.getByText('Payload URL: the URL above.').waitFor();
  await checkAccessibility(t, page, 'a webhook');

  const headers = { 'x-svc-token': token, 'content-type': 'application/json' };
  const body = JSON.stringify({ image: 'localhost:5000/svc/hello:v2', commit: hostile });
  t.equal((await platform.request(url, { method: 'POST', headers, body })).status, 202);
  const row = page.getByRole('row').filter({ hasText: 'accepted' });
  await row.getByRole('link').click();
  const shown = page.getByRole('article', { name: 'Delivery', exact: true });
  await shown.getByText(hostile).waitFor();
  const [first] = await deliveries();
  t.equal(new URL(page.url()).search, `?delivery=${first?.id}`);
  await checkAccessibility(t, page, 'a delivery');
  await pages.button('Redeliver').click();
  await shown.getByText('Redelivery of').waitFor();
  t.match((await deliveries())[0], { redeliveryOf: first?.id });

  await pages.button('Edit').click();
  await page.getByLabel('Tags of images').fill('v*');
  await pages.button('Save').click();
  await page.getByText('v*', { exact: true }).waitFor();
  t.equal((await status()).tags, 'v*');
  await pages.button('Create a secret URL').click();
  await page.getByText(`svc app webhook set api --secret-url on --project ${project}`).waitFor();
  await pages.dialog().getByRole('button', { name: 'Create a secret URL' }).click();
  const once = page.getByRole('dialog', { name: 'Copy the secret URL now' });
  const secretUrl = (await once.getByRole('code').innerText()).trim();
  await pages.button('I have stored the secret URL').click();
  t.notMatch(await page.content(), secretUrl);
  t.equal((await status()).hasSecretUrl, true);
  await pages.button('Delete the secret URL').click();
  await pages.dialog().getByRole('button', { name: 'Delete the secret URL' }).click();
  await pages.button('Create a secret URL').waitFor();
  t.equal((await status()).hasSecretUrl, false);
  await pages.button('Test').click();
  await page.getByLabel('Image').fill('localhost:5000/svc/hello:latest');
  await checkAccessibility(t, page, 'test a webhook');
  await pages.dialog().getByRole('button', { name: 'Test' }).click();
  await shown.getByText('ignored').waitFor();
  t.match((await deliveries())[0], { sender: 'test', verdict: 'ignored' });
  t.equal(await pages.button('Redeliver').count(), 0, 'a test cannot be repeated');

  await pages.button('Replace the token').click();
  await pages.dialog().getByRole('button', { name: 'Replace the token' }).click();
  const second = (await secrets.getByRole('code').first().innerText()).trim();
  t.not(second, token);
  t.equal((await status()).token, second);
  await pages.button('Close').click();
  await page.getByText('The old token ends').waitFor();
  await pages.button('Disable').click();
  await pages.dialog().getByRole('button', { name: 'Disable' }).click();
  await pages.button('Enable the webhook').waitFor();
  t.equal((await status()).enabled, false);

  // Another person enables it, and the page does not show that yet.
  await page.route('**/apps/api/webhook?*', (route) =>
    route.request().method() === 'GET' ? route.fulfill({ json: { enabled: false, version: 2 } }) : route.continue(),
  );
  await platform.ok(['app', 'webhook', 'enable', 'api', ...flags]);
  const { token: otherToken } = await status();
  await pages.button('Enable the webhook').click();
  t.match(await pages.alert().innerText(), /conflict/);
  t.equal((await status()).token, otherToken, 'their token is still valid');
  await page.unroute('**/apps/api/webhook?*');
});

t.test('an app is built from git, the log of a build is followed, and the source is removed', async (t) => {
  const { page, pages } = await visit(t, `${place}/apps/api`);
  const token = 'glpat-console-7f3k9q2m5x';
  const repository = await gitServer(t, { host: '127.0.0.1', token });
  const commit = repository.push({
    'package.json': JSON.stringify({ name: 'api', scripts: { start: 'node server.mjs' } }),
    'server.mjs': `import { createServer } from 'node:http';
createServer((_request, response) => response.end('built')).listen(Number(process.env.PORT));
`,
  });
  const source = () =>
    platform.json<{ configured: boolean; url?: string; branch?: string; credentials?: string }>([
      ...['app', 'git', 'status', 'api', ...flags],
    ]);
  await pages.link('Git').click();
  await page.getByText('This app is not built from git.').waitFor();
  await pages.button('Connect a repository').click();
  await page.getByLabel('Repository URL').fill(repository.url());
  await page.getByLabel('Credentials').selectOption('Token, for https');
  await page.getByLabel('Token or private key').fill(token);
  await checkAccessibility(t, page, 'connect a repository');
  await pages.dialog().getByRole('button', { name: 'Connect a repository' }).click();
  await page.getByText(repository.url(), { exact: true }).waitFor();
  t.match(await source(), { configured: true, url: repository.url(), branch: 'main', credentials: 'token' });
  t.notMatch(await page.content(), token);

  await page.getByRole('link', { name: /^Log of the build of revision/ }).click();
  const row = page.getByRole('row').filter({ hasText: commit.slice(0, 12) });
  await row.getByText('succeeded').waitFor();
  await page.getByText('The build is in progress.').waitFor({ state: 'detached' });
  const [, build = ''] = /^\?build=([\w-]+)$/.exec(new URL(page.url()).search) ?? [];
  const logs = await platform.json<{ build?: { text: string } }>([
    ...['deployment', 'logs', build, '--project', project],
  ]);
  t.ok(logs.build && logs.build.text !== '');
  t.equal(await page.getByLabel('Build log').textContent(), logs.build?.text);
  await checkAccessibility(t, page, 'git');
  t.equal(await pages.link('Images of this app').getAttribute('href'), `${place}/images?app=api`);
  await pages.button('Check now').click();
  await page.getByText('The repository is being checked.').waitFor();

  await pages.button('Remove').click();
  await pages.dialog().getByText('The app keeps its current image').waitFor();
  await pages.dialog().getByRole('button', { name: 'Remove' }).click();
  await page.getByText('This app is not built from git.').waitFor();
  t.equal((await source()).configured, false);
});

t.test('a deployer sees keys and plans, and no button to change them', async (t) => {
  const { page, pages } = await visit(t, `${place}/keys`, { width: 360, user: await member('deployer') });
  const { handle } = (await keys()).find(({ name }) => name === undefined) ?? { handle: '' };
  await pages.row(handle).waitFor();
  t.notOk(await overflows(page));
  const buttons = () => page.getByRole('main').getByRole('button').allInnerTexts();
  t.same(await buttons(), ['Copy']);
  await pages.link(handle).click();
  await pages.heading(handle).waitFor();
  await page.getByText('There were no requests').waitFor();
  t.notOk(await overflows(page));
  t.same(await buttons(), ['Copy', 'Copy']);
  await pages.open(`${place}/apps/api/gate`);
  await page.getByText('off', { exact: true }).waitFor();
  t.notOk(await overflows(page));
  await pages.button('Restart').waitFor();
  t.same(await buttons(), ['Restart', 'Copy', 'Copy']);
  await pages.open(`${place}/apps/api/webhook`);
  await page.getByRole('row').filter({ hasText: 'accepted' }).first().waitFor();
  t.notOk(await overflows(page));
  await pages.button('Test').waitFor();
  await pages.button('Restart').waitFor();
  t.same(await buttons(), ['Restart', 'Test', 'Copy']);
  await pages.open(`${place}/apps/api/git`);
  await page.getByRole('link', { name: /^Log of the build/ }).waitFor();
  t.notOk(await overflows(page));
  await pages.open(`${place}/apps/api/settings`);
  await pages.button('Save').first().waitFor();
  t.notOk(await overflows(page));
  await pages.open(`${place}/plans`);
  await pages.row('small').waitFor();
  t.notOk(await overflows(page));
  t.same(await eventually(buttons, (names) => names.length > 0), ['Copy']);
});

t.test('no page of these tests had an error, or did what its policy forbids', (t) => {
  t.same(browser.faults, []);
  t.end();
});
