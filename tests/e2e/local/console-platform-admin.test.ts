import type { Page } from 'playwright-core';
import t from 'tap';
import { checkAccessibility, overflows, requestInPage } from '../../support/console/browser.ts';
import { startVisitor } from '../../support/console/visitor.ts';
import { eventually, runningPlatform, uniqueName } from '../../support/platform.ts';

const platform = await runningPlatform();
const { browser, visit } = await startVisitor(t, platform);

interface User {
  email: string;
  role: string;
  status: string;
}

/** Text that the author of a request, a log line or a name can write. */
const hostile = '<img src=x onerror=alert(1)>';

/** A list that the API gives to the page's user. */
async function read(page: Page, path: string, list: string): Promise<{ name: string }[]> {
  const { body } = await requestInPage(page, path);
  return (body as Record<string, { name: string }[]>)[list] ?? [];
}

const userNamed = (email: string) => platform.json<User>(['user', 'show', email]);

t.test('an admin creates a user, changes role and state, resets the password, and deletes the user', async (t) => {
  // The hostile part is what an address can be: it needs no space.
  const email = `${uniqueName('<img/src=x/onerror=alert(1)>')}@svc.local`;
  t.teardown(() => platform.svc(['user', 'delete', email, '--yes']));
  const { page, pages } = await visit(t, '/users');
  await pages.row(platform.info.adminEmail).getByText('you', { exact: true }).waitFor();
  await checkAccessibility(t, page, 'users');
  await pages.button('Create a user').click();
  await page.getByLabel('Email address').fill(email);
  await checkAccessibility(t, page, 'new user');
  await pages.dialog().getByRole('button', { name: 'Create a user' }).click();

  const passwordIn = async () => {
    await pages.dialog().getByRole('heading', { name: 'Copy the one-time password now' }).waitFor();
    return pages.dialog().getByRole('code').innerText();
  };
  const first = await passwordIn();
  await page.keyboard.press('Escape');
  await checkAccessibility(t, page, 'one-time password');
  await pages.button('I have stored the password').click();
  await pages.dialog().waitFor({ state: 'detached' });
  t.notMatch(await page.content(), first, 'not after the dialog');
  t.match(await userNamed(email), { role: 'member', status: 'invited' });
  const signIn = (password: string) =>
    platform.request(`${platform.info.api}/api/v1/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password }),
    });
  t.equal((await signIn(first)).status, 201, 'the password is valid');

  await pages.row(email).getByRole('link').click();
  await pages.heading(email).waitFor();
  await page.getByText('One-time password expires').waitFor();
  await pages.button('Make platform admin').click();
  await pages.dialog().getByRole('button', { name: 'Make platform admin' }).click();
  await pages.button('Make member').waitFor();
  t.match(await userNamed(email), { role: 'admin' });
  await pages.button('Make member').click();
  await pages.dialog().getByRole('button', { name: 'Make member' }).click();
  await pages.button('Make platform admin').waitFor();
  t.match(await userNamed(email), { role: 'member' });

  await pages.button('Reset password').click();
  await pages.dialog().getByRole('button', { name: 'Reset password' }).click();
  const second = await passwordIn();
  await pages.button('I have stored the password').click();
  t.equal((await signIn(first)).status, 401);
  t.equal((await signIn(second)).status, 201);

  await pages.button('Disable').click();
  await checkAccessibility(t, page, 'disable a user');
  await pages.dialog().getByRole('button', { name: 'Disable' }).click();
  await pages.button('Enable').waitFor();
  t.match(await userNamed(email), { status: 'disabled' });
  await checkAccessibility(t, page, 'disabled user');
  await pages.button('Enable').click();
  await pages.button('Disable').waitFor();
  t.match(await userNamed(email), { status: 'invited' });

  await pages.button('Delete').click();
  const confirm = pages.dialog().getByRole('button', { name: 'Delete' });
  t.ok(await confirm.isDisabled());
  await page.getByLabel(`Type ${email} to confirm`).fill(email);
  await confirm.click();
  await pages.heading('Users').waitFor();
  await pages.row(platform.info.adminEmail).waitFor();
  await pages.row(email).waitFor({ state: 'detached' });
  t.match(await platform.svc(['user', 'show', email]), { code: 1, stderr: /not_found/ });
});

t.test('one’s own account has no buttons, and the page of a missing user says so', async (t) => {
  const { page, pages } = await visit(t, `/users/${platform.info.adminEmail}`);
  await page.getByText('This is your own account.').waitFor();
  t.equal(await pages.button('Delete').count(), 0);
  await checkAccessibility(t, page, 'own account');
  await pages.open('/users/missing@svc.local');
  await pages.alert().getByText('not_found').waitFor();
});

t.test('the status shows every part of the platform', async (t) => {
  const { components } = await platform.json<{ components: { name: string }[] }>(['platform', 'status']);
  const { page, pages } = await visit(t, '/platform');
  await pages.heading('Platform').waitFor();
  for (const { name } of components) await pages.row(name).waitFor();
  for (const { name } of await read(page, '/health/controllers', 'controllers')) {
    await pages.row(name).getByText('registered').waitFor();
  }
  // Other tests replace replicas at the same time.
  await eventually(
    async () => {
      const replicas = await read(page, '/api/v1/gate/status', 'replicas');
      return Promise.all(replicas.map(({ name }) => pages.row(name).count()));
    },
    (rows) => rows.includes(1),
  );
  await page.getByText('The cluster lists no nodes.').waitFor();
  await checkAccessibility(t, page, 'status');
});

t.test('what is unhealthy is told first', async (t) => {
  const { page, pages } = await visit(t);
  await pages.heading('Projects').waitFor();
  const raised = { raisedAt: '2026-01-01T00:00:00.000Z', from: '384Mi', to: '768Mi', reason: hostile };
  const components = [
    { name: 'workers', status: 'unhealthy', message: hostile },
    { name: 'log-store', status: 'starting', memory: '768Mi', raised },
  ];
  const nodes = [{ name: 'node-1', ready: false, addresses: ['192.0.2.1'] }];
  const status = { version: '1', cluster: hostile, appsDomain: 'apps.localhost', components, nodes };
  await page.route('**/api/v1/platform/status', (route) => route.fulfill({ json: status }));
  await page.route('**/api/v1/gate/status', (route) => route.fulfill({ json: { version: 3, replicas: [] } }));
  await pages.link('Platform').click();
  await pages.alert().getByText('Not healthy: workers, node-1.').waitFor();
  await pages.row('workers').getByText(hostile).waitFor();
  await pages.row('log-store').getByText('from 384Mi to 768Mi').waitFor();
  await pages.row('node-1').getByText('not ready').waitFor();
  await page.getByText('No replica of the gate is running').waitFor();
  await checkAccessibility(t, page, 'unhealthy');
});

t.test('an admin enables, disables and resizes components of monitoring', async (t) => {
  const { page, pages } = await visit(t);
  await pages.heading('Projects').waitFor();
  // Other tests use the components at the same time, so the requests do not arrive: tests of the API say what they do.
  const sent: unknown[] = [];
  const components = [
    { name: 'metrics-store', status: 'disabled', memory: '512Mi' },
    { name: 'log-store', status: 'on', memory: '384Mi' },
  ];
  const status = { version: '1', cluster: 'local', appsDomain: 'apps.localhost', components, nodes: [] };
  await page.route('**/api/v1/platform/status', (route) => route.fulfill({ json: status }));
  await page.route('**/api/v1/platform/components/*', (route) => {
    const request = route.request();
    sent.push([request.method(), new URL(request.url()).pathname, request.postDataJSON()]);
    return route.fulfill({ json: components[0] });
  });
  await pages.link('Platform').click();
  const confirm = async (name: string) => {
    await pages.dialog().getByRole('button', { name, exact: true }).click();
    await pages.dialog().waitFor({ state: 'detached' });
  };
  await pages.button('Enable metrics-store').click();
  await confirm('Enable');
  await pages.button('Disable log-store').click();
  await pages.dialog().getByText('svc platform disable log-store', { exact: true }).waitFor();
  await confirm('Disable');
  await pages.button('Disable log-store').click();
  await pages.dialog().getByRole('checkbox').check();
  await pages.dialog().getByText('svc platform disable log-store --delete-data').waitFor();
  await checkAccessibility(t, page, 'disable a component');
  await confirm('Disable');
  await pages.button('Resize log-store').click();
  await pages.dialog().getByLabel('Memory limit').fill('1Gi');
  await pages.dialog().getByText('svc platform resize log-store --memory 1Gi').waitFor();
  await confirm('Resize');
  await pages.button('Resize metrics-store').click();
  await pages.dialog().getByLabel('Memory limit').fill('');
  await confirm('Resize');
  const path = '/api/v1/platform/components';
  t.same(sent, [
    ['PATCH', `${path}/metrics-store`, { enabled: true }],
    ['PATCH', `${path}/log-store`, { enabled: false }],
    ['PATCH', `${path}/log-store`, { enabled: false, deleteData: true }],
    ['PATCH', `${path}/log-store`, { memory: '1Gi' }],
    ['PATCH', `${path}/metrics-store`, { memory: null }],
  ]);
  await page.unroute('**/api/v1/platform/components/*');
  await pages.button('Resize log-store').click();
  await pages.dialog().getByLabel('Memory limit').fill('much');
  await pages.dialog().getByRole('button', { name: 'Resize', exact: true }).click();
  // What the API refuses changes nothing.
  await pages.dialog().getByRole('alert').getByText('invalid_value').waitFor();
  await page.setViewportSize({ width: 360, height: 740 });
  await pages.dialog().getByRole('button', { name: 'Cancel' }).click();
  t.notOk(await overflows(page), 'components on a phone');
});

t.test('an admin changes a setting, and sees what the API refuses', async (t) => {
  interface Settings {
    status: string;
    builds: { keepImages: number };
  }
  const keptImages = async () => (await platform.json<Settings>(['platform', 'config', 'show'])).builds.keepImages;
  const before = await keptImages();
  t.teardown(() => platform.ok(['platform', 'config', 'set', '--keep-images', String(before), '--no-wait']));
  const { page, pages } = await visit(t, '/platform/settings');
  await pages.button('Edit builds').click();
  const dialog = pages.dialog();
  t.ok(await dialog.getByRole('button', { name: 'Save' }).isDisabled(), 'nothing has changed');
  await dialog.getByLabel('Images kept of each app').fill(String(before + 1));
  await dialog.getByText(`svc platform config set --keep-images ${before + 1}`, { exact: true }).waitFor();
  await checkAccessibility(t, page, 'edit settings');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  t.equal(await eventually(keptImages, (kept) => kept !== before), before + 1);
  await pages.button('Edit networks').click();
  await dialog.getByLabel('Private networks for notifications').fill(hostile);
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByRole('alert').getByText('invalid_value').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await checkAccessibility(t, page, 'settings');
  await page.setViewportSize({ width: 360, height: 740 });
  t.notOk(await overflows(page), 'settings on a phone');
});

t.test('an admin silences an alert, and ends the silence', async (t) => {
  const alert = uniqueName('TestAlert');
  interface Silence {
    alert: string;
    labels: object;
    comment: string;
  }
  const silences = async () =>
    (await platform.json<Silence[]>(['platform', 'alerts', 'silences'])).filter((silence) => silence.alert === alert);
  t.teardown(() => platform.svc(['platform', 'alerts', 'unsilence', alert]));
  const { page, pages } = await visit(t);
  await pages.heading('Projects').waitFor();
  const firing = {
    id: '1',
    name: alert,
    severity: 'critical',
    scope: 'workload',
    state: 'firing',
    summary: hostile,
    labels: { namespace: hostile },
    details: { line: hostile },
    startsAt: '2026-01-01T00:00:00.000Z',
  };
  const list = { items: [firing], truncated: false };
  await page.route('**/api/v1/platform/alerts', (route) => route.fulfill({ json: list }));
  await pages.link('Platform').click();
  await pages.link('Alerts').click();
  await pages.button(`Silence ${alert}`).click();
  t.equal(await pages.dialog().getByLabel('Only alerts with these labels').inputValue(), `namespace=${hostile}`);
  await pages.dialog().getByLabel('Duration').selectOption('4 hours');
  await pages.dialog().getByLabel('Reason').fill(hostile);
  await checkAccessibility(t, page, 'silence');
  await pages.dialog().getByRole('button', { name: 'Silence' }).click();
  await pages.button(`End the silence of ${alert}`).waitFor();
  t.match(await silences(), [{ comment: hostile, labels: { namespace: hostile } }]);
  await checkAccessibility(t, page, 'alerts');
  await page.setViewportSize({ width: 360, height: 740 });
  t.notOk(await overflows(page), 'alerts on a phone');
  await pages.button(`End the silence of ${alert}`).click();
  await pages.dialog().getByRole('button', { name: 'End', exact: true }).click();
  await pages.button(`End the silence of ${alert}`).waitFor({ state: 'detached' });
  t.same(await silences(), []);
  await pages.button('Silence an alert').click();
  await pages.dialog().getByLabel('Name of the alert').fill('not a name');
  await pages.dialog().getByLabel('Reason').fill('none');
  await pages.dialog().getByRole('button', { name: 'Silence' }).click();
  await pages.dialog().getByRole('alert').getByText('invalid_request').waitFor();
});

t.test('the audit log shows who did what on the platform', async (t) => {
  const email = `${uniqueName('<img/src=x/onerror=alert(1)>')}@svc.local`;
  await platform.ok(['user', 'create', email]);
  t.teardown(() => platform.svc(['user', 'delete', email, '--yes']));
  const { page, pages } = await visit(t, '/platform');
  await pages.link('Audit').click();
  await page.getByLabel('Object').fill(email);
  await pages.button('Apply').click();
  const created = page.getByRole('row').filter({ hasText: 'user.create' });
  await created.getByText(platform.info.adminEmail).waitFor();
  t.match(await platform.json(['audit', '--platform', '--object', email]), [
    { action: 'user.create', actor: platform.info.adminEmail, object: { kind: 'user', name: email } },
  ]);
  await checkAccessibility(t, page, 'audit');
  await page.setViewportSize({ width: 360, height: 740 });
  t.notOk(await overflows(page), 'audit on a phone');
  await page.getByLabel('Action').selectOption('app.');
  await pages.button('Apply').click();
  await page.getByText('No entries match.').waitFor();
  await page.goBack();
  await created.getByRole('link', { name: email }).click();
  await pages.heading(email).waitFor();
});

t.test('a member finds no way to the pages for admins, and a direct visit says why', async (t) => {
  const user = { email: `${uniqueName('member')}@svc.local`, password: uniqueName('a-long-passphrase-') };
  await platform.ok(['user', 'create', user.email, '--password-stdin'], user.password);
  t.teardown(() => platform.svc(['user', 'delete', user.email, '--yes']));
  const { page, pages } = await visit(t, '/', { user, width: 360 });
  await pages.heading('Projects').waitFor();
  t.equal(await pages.link('Users').count(), 0);
  t.equal(await pages.link('Platform').count(), 0);
  await page.keyboard.press('ControlOrMeta+k');
  await page.getByRole('combobox').fill('users');
  await page.getByText('Nothing has this name.').waitFor();
  await page.keyboard.press('Escape');
  const requests: string[] = [];
  page.on('request', (request) => requests.push(new URL(request.url()).pathname));
  for (const path of [
    '/users',
    `/users/${user.email}`,
    '/platform',
    '/platform/alerts',
    '/platform/settings',
    '/platform/audit',
  ]) {
    await pages.open(path);
    await page.getByText('Only platform admins can see this page.').waitFor();
    const names = await page.getByRole('main').getByRole('button').allInnerTexts();
    t.same(names, ['Copy'], path);
    t.notOk(await overflows(page), path);
  }
  await checkAccessibility(t, page, 'the page of a member');
  t.same(
    requests.filter((path) => /^\/api\/v1\/(users|platform)/.test(path)),
    [],
    'the page does not even ask',
  );
});

t.test('on a phone, the pages fit, and the palette finds them', async (t) => {
  const { page, pages } = await visit(t, '/', { width: 360 });
  await pages.heading('Projects').waitFor();
  await page.keyboard.press('ControlOrMeta+k');
  await page.getByRole('combobox').fill('users');
  await page.getByRole('option', { selected: true }).filter({ hasText: 'Page' }).waitFor();
  await page.keyboard.press('Enter');
  await pages.row(platform.info.adminEmail).waitFor();
  t.notOk(await overflows(page), 'users');
  await pages.row(platform.info.adminEmail).getByRole('link').click();
  await page.getByText('This is your own account.').waitFor();
  t.notOk(await overflows(page), 'user');
  await pages.link('Platform').click();
  await page.getByText('The cluster lists no nodes.').waitFor();
  t.notOk(await overflows(page), 'status');
});

t.test('no page of these tests had an error, or did what its policy forbids', (t) => {
  t.same(browser.faults, []);
  t.end();
});
