import t, { type Test } from 'tap';
import { checkAccessibility, overflows, requestInPage } from '../../support/console/browser.ts';
import { startVisitor } from '../../support/console/visitor.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../../support/platform.ts';

const platform = await runningPlatform();
const { api } = platform.info;
const { browser, visit } = await startVisitor(t, platform);
const { project } = await testProject(t, platform);
const inProject = ['--project', project];
const projectPath = `/projects/${project}`;
const [admin, viewer, member] = await Promise.all([newUser('admin'), newUser('viewer'), newUser('member')]);
await platform.ok(['member', 'set', admin.email, '--role', 'admin', ...inProject]);
await platform.ok(['member', 'set', viewer.email, '--role', 'viewer', ...inProject]);
// The user of the command line, who made the project, is an admin of the platform.
await platform.ok(['member', 'remove', platform.info.adminEmail, ...inProject, '--yes']);

async function newUser(prefix: string): Promise<{ email: string; password: string }> {
  const user = { email: `${uniqueName(prefix)}@svc.local`, password: uniqueName('a-long-passphrase-') };
  await platform.ok(['user', 'create', user.email, '--password-stdin'], user.password);
  return user;
}

const signIn = ({ email, password }: { email: string; password: string }) =>
  platform.request(`${api}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  });

interface Token {
  name: string;
  scopes: string[];
  environment?: string;
  createdBy: string;
  expiresAt: string;
}

t.test('a user changes the password, which ends the other sessions', async (t) => {
  const other = (await signIn(member)).json()['token'] as string;
  const { page, pages } = await visit(t, '/', { user: member, width: 360 });
  await page.getByText('You have no projects yet.').waitFor();
  await pages.link('Account').click();
  await pages.heading('Account').waitFor();
  await page.getByText('Access tokens belong to a project.').waitFor();
  await checkAccessibility(t, page, 'account');
  t.notOk(await overflows(page), 'account on a phone');
  const next = uniqueName('another-passphrase-');
  const change = async (current: string, repeated = next) => {
    await page.getByLabel('Current password').fill(current);
    await page.getByLabel('New password', { exact: true }).fill(next);
    await page.getByLabel('Repeat the new password').fill(repeated);
    await pages.button('Save password').click();
  };
  await change(member.password, 'different');
  await pages.alert().getByText('The two new passwords differ.').waitFor();
  await change('not-the-password');
  await pages.alert().getByText('The current password is wrong.').waitFor();
  await change(member.password);
  await page.getByText('The password is changed, and your other sessions have ended.').waitFor();
  t.equal(await page.getByLabel('New password', { exact: true }).inputValue(), '', 'the form keeps no password');
  t.equal((await signIn({ ...member, password: next })).status, 201);
  const headers = { authorization: `Bearer ${other}` };
  t.equal((await platform.request(`${api}/api/v1/session`, { headers })).status, 401, 'the other session has ended');
  await page.reload();
  await pages.heading('Account').waitFor();
  member.password = next;
});

t.test('a user sees the own sessions, and signs out everywhere else', async (t) => {
  const tokens = await Promise.all([signIn(viewer), signIn(viewer)]);
  const works = async (index: number) => {
    const headers = { authorization: `Bearer ${tokens[index]?.json()['token'] as string}` };
    return (await platform.request(`${api}/api/v1/session`, { headers })).status === 200;
  };
  const { page, pages } = await visit(t, '/account', { user: viewer, width: 360 });
  const sessions = page.getByRole('region', { name: 'Sessions' });
  const rows = sessions.getByRole('row');
  await sessions.getByText('this session').waitFor();
  t.equal(await rows.count(), 4, 'with the heads');
  t.equal(await sessions.getByRole('button', { name: /^End the session/ }).count(), 2, 'not of this one');
  await checkAccessibility(t, page, 'sessions');
  t.notOk(await overflows(page), 'sessions on a phone');
  await sessions
    .getByRole('button', { name: /^End the session/ })
    .first()
    .click();
  await pages
    .dialog()
    .getByText(/^svc session end [0-9a-f-]{36}$/)
    .waitFor();
  await checkAccessibility(t, page, 'end a session');
  await pages.dialog().getByRole('button', { name: 'End', exact: true }).click();
  await sessions.getByText('1 session has ended.').waitFor();
  t.equal((await Promise.all([works(0), works(1)])).filter(Boolean).length, 1);
  await pages.button('Sign out everywhere else').click();
  await pages.dialog().getByText('svc session end --others').waitFor();
  await pages.dialog().getByRole('button', { name: 'Sign out everywhere else' }).click();
  await sessions.getByText('You are signed in nowhere else.').waitFor();
  t.same(await Promise.all([works(0), works(1)]), [false, false]);
  await page.reload();
  await sessions.getByText('this session').waitFor();
});

t.test('a token is created with its scopes, shown once, and revoked', async (t) => {
  const tokens = () => platform.json<Token[]>(['token', 'list', ...inProject]);
  const { page, pages } = await visit(t, `/account?project=${project}`, { user: admin });
  await page.getByText('This project has no access tokens.').waitFor();
  await pages.button('Create a token').click();
  const dialog = pages.dialog();
  await dialog.getByLabel('Name, such as ci').fill('<img src=x>');
  await dialog.getByLabel('Environment').selectOption('prod');
  await dialog.getByRole('checkbox', { name: /^read:/ }).uncheck();
  t.ok(await dialog.getByRole('button', { name: 'Create a token' }).isDisabled(), 'without a scope');
  await dialog.getByRole('checkbox', { name: /^deploy:/ }).check();
  await dialog.getByLabel('Valid for').selectOption('30 days');
  await checkAccessibility(t, page, 'new token');
  await dialog.getByRole('button', { name: 'Create a token' }).click();
  await dialog.getByRole('alert').getByText('"<img src=x>" is not a valid name').waitFor();
  await dialog.getByLabel('Name, such as ci').fill('ci');
  await dialog.getByText('svc token create ci --scope deploy --environment prod --expires 30d').waitFor();
  await dialog.getByRole('button', { name: 'Create a token' }).click();
  const shown = dialog.locator('code');
  await shown.getByText(/^svct_/).waitFor();
  const secret = await shown.innerText();
  await page.keyboard.press('Escape');
  await pages.button('I have stored the token').click();
  await dialog.waitFor({ state: 'detached' });
  await pages.row('ci').waitFor();
  t.notMatch(await page.content(), secret, 'it is shown only once');
  const headers = { authorization: `Bearer ${secret}` };
  t.match((await platform.request(`${api}/api/v1/session`, { headers })).json(), {
    email: admin.email,
    token: { name: 'ci', project, environment: 'prod', scopes: ['deploy'] },
  });
  const [created] = await tokens();
  const days = (Date.parse(created?.expiresAt ?? '') - Date.now()) / 86_400_000;
  t.ok(days > 29 && days < 31, 'it is valid for 30 days');
  await checkAccessibility(t, page, 'tokens');
  await pages.button('Revoke ci').click();
  await pages.dialog().getByRole('button', { name: 'Revoke', exact: true }).click();
  await page.getByText('This project has no access tokens.').waitFor();
  t.same(await tokens(), []);
  t.equal((await platform.request(`${api}/api/v1/session`, { headers })).status, 401);
});

t.test('members are added, get another role and are removed', async (t) => {
  const members = async () => {
    const list = await platform.json<{ email: string; role: string }[]>(['member', 'list', ...inProject]);
    return Object.fromEntries(list.map(({ email, role }) => [email, role]));
  };
  const hostile = '"<img/src=x>"@evil.example';
  await platform.ok(['member', 'set', hostile, '--role', 'viewer', ...inProject]);
  const { page, pages } = await visit(t, `${projectPath}/members`, { user: admin });
  await pages.row(hostile).waitFor();
  await checkAccessibility(t, page, 'members');
  t.equal(await pages.button(`Remove ${admin.email}`).count(), 0, 'the last admin stays');

  await pages.button('Add a member').click();
  const add = pages.dialog().getByRole('button', { name: 'Add a member' });
  await page.getByLabel('Email address').fill(admin.email);
  await pages.dialog().getByText('This user is already a member.').waitFor();
  t.ok(await add.isDisabled(), 'the form of a new member changes no role');
  await page.getByLabel('Email address').fill(member.email);
  await pages.dialog().getByLabel('Role').selectOption('admin');
  await checkAccessibility(t, page, 'add a member');
  await pages
    .dialog()
    .getByText(`svc member set ${member.email} --role admin ${inProject.join(' ')}`)
    .waitFor();
  await add.click();
  await pages.row(member.email).getByText('admin', { exact: true }).waitFor();
  t.match(await members(), { [member.email]: 'admin' });

  await pages.button(`Change role of ${member.email}`).click();
  await pages.dialog().getByLabel('Role').selectOption('deployer');
  await pages.button('Save').click();
  await pages.row(member.email).getByText('deployer').waitFor();
  t.match(await members(), { [member.email]: 'deployer' });

  await pages.button(`Remove ${hostile}`).click();
  await pages.dialog().getByRole('button', { name: 'Remove', exact: true }).click();
  await pages.row(hostile).waitFor({ state: 'detached' });
  // What others change appears without a reload.
  await platform.ok(['member', 'remove', member.email, ...inProject, '--yes']);
  await pages.row(member.email).waitFor({ state: 'detached' });
  t.same(await members(), { [admin.email]: 'admin', [viewer.email]: 'viewer' });

  await pages.link('Audit').click();
  const removal = page.getByRole('row').filter({ hasText: 'member.remove' }).filter({ hasText: hostile });
  await removal.getByText(admin.email).waitFor();
  t.equal(await removal.getByRole('link', { name: hostile }).getAttribute('href'), `${projectPath}/members`);
  await page.getByLabel('Action').selectOption('member.');
  await page.getByLabel('User').fill(admin.email);
  await pages.button('Apply').click();
  await page.getByText(`svc audit ${inProject.join(' ')} --action member. --actor ${admin.email}`).waitFor();
  t.equal(new URL(page.url()).searchParams.get('actor'), admin.email, 'a link shows the same');
  const listed = await platform.json<unknown[]>(['audit', '--action', 'member.', '--actor', admin.email, ...inProject]);
  t.equal(listed.length, 3, 'what the page has changed');
  await eventually(
    () => page.getByRole('row').count(),
    (rows) => rows === 1 + listed.length,
  );
  await removal.getByText('Details').click();
  await removal.getByText('changes').waitFor();
  await page.getByLabel('Before').fill('2026-01-01T00:00');
  await pages.button('Apply').click();
  await page.getByText('No entries match.').waitFor();
  t.match(new URL(page.url()).searchParams.get('until'), /^(2025-12-31|2026-01-01)T.*Z$/, 'in the zone of the browser');
  await page.goBack();
  await removal.waitFor();
  await checkAccessibility(t, page, 'audit');
  await page.setViewportSize({ width: 360, height: 740 });
  t.notOk(await overflows(page), 'audit on a phone');
});

t.test('older entries of the audit log are added to those that are shown', async (t) => {
  const { page, pages } = await visit(t);
  await pages.row(project).waitFor();
  // As a page does, which is faster than as many commands.
  const path = `/api/v1${projectPath}/members/${encodeURIComponent(viewer.email)}`;
  const headers = { 'content-type': 'application/json' };
  for (let number = 1; number <= 56; number++) {
    const body = JSON.stringify({ role: number % 2 === 0 ? 'viewer' : 'deployer' });
    t.equal((await requestInPage(page, path, { method: 'PUT', headers, body })).status, 200);
  }
  await pages.open(`${projectPath}/audit?action=member.`);
  await page.getByText('50 entries').waitFor();
  const oldest = await page.getByRole('row').last().innerText();
  await pages.button('Show older entries').click();
  await page.getByText('New entries are not added while older ones are shown.').waitFor();
  const listed = await platform.json<unknown[]>(['audit', '--action', 'member.', '--limit', '500', ...inProject]);
  t.equal(await page.getByRole('row').count(), 1 + listed.length);
  t.equal(await page.getByRole('row').nth(50).innerText(), oldest, 'below those that were there');
  await page.getByText(`--limit ${listed.length}`).waitFor();
  t.equal(await pages.button('Show older entries').count(), 0, 'there are no more');
  await checkAccessibility(t, page, 'older audit entries');
  await pages.button('Show the newest entries only').click();
  await page.getByText('50 entries').waitFor();
});

t.test('environments are created, limited and deleted', async (t) => {
  interface Environment {
    name: string;
    deleting?: boolean;
    limits: Record<string, unknown>;
  }
  const environments = () => platform.json<Environment[]>(['environment', 'list', ...inProject]);
  const { page, pages } = await visit(t, `/projects/${project}/environments/prod`, { user: admin });
  await pages.link('Project settings').click();
  await pages.heading(project).waitFor();
  await pages.row('prod').getByText('ready').waitFor();
  t.equal(await pages.link('Access tokens').getAttribute('href'), `/account?project=${project}`);
  await pages.button('Create an environment').click();
  await page.getByLabel('Name, such as staging').fill('Not valid');
  await pages.dialog().getByRole('button', { name: 'Create an environment' }).click();
  await pages.dialog().getByRole('alert').getByText('invalid_value').waitFor();
  await page.getByLabel('Name, such as staging').fill('staging');
  await pages.dialog().getByRole('button', { name: 'Create an environment' }).click();
  await pages.row('staging').getByText('ready').waitFor();
  await checkAccessibility(t, page, 'project');

  await pages.button('Limits of staging').click();
  const memory = page.getByLabel('Memory of all pods, such as 16Gi');
  const before = await memory.inputValue();
  await memory.fill('3Gi');
  await page.getByLabel('Maximum number of pods').fill('7');
  await pages.button('Save').click();
  await pages.row('staging').getByText('3Gi').waitFor();
  const [, staging] = (await environments()).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  t.match(staging, { name: 'staging', limits: { memory: '3Gi', pods: 7 } });
  await pages.button('Limits of staging').click();
  await memory.fill('');
  await pages.dialog().getByText('svc environment update staging --memory default').waitFor();
  await pages.button('Save').click();
  await pages.row('staging').getByText(before, { exact: true }).waitFor();

  await pages.button('Delete staging').click();
  const confirm = pages.dialog().getByRole('button', { name: 'Delete', exact: true });
  t.ok(await confirm.isDisabled());
  await page.getByLabel('Type staging to confirm').fill('staging');
  await confirm.click();
  await pages.row('staging').waitFor({ state: 'detached' });
  t.same(
    (await environments()).map(({ name }) => name),
    ['prod'],
  );
});

t.test('a notification is created, tested, changed and deleted, and its URL is in the form alone', async (t) => {
  const path = 'T0000-not-for-everyone';
  const targets = () => platform.json<Record<string, unknown>[]>(['notification', 'list', ...inProject]);
  const { page, pages } = await visit(t, projectPath, { user: admin });
  await pages.link('Notifications').click();
  await page.getByText('This project notifies nobody.').waitFor();
  await pages.button('Create a notification').click();
  const dialog = pages.dialog();
  await dialog.getByLabel('Name, such as ops').fill('ops');
  await dialog.getByLabel('Target URL').fill(`https://hooks.invalid/${path}`);
  await dialog.getByRole('checkbox', { name: 'succeeded' }).uncheck();
  await dialog.getByLabel('Only these apps').fill('api, worker');
  await checkAccessibility(t, page, 'new notification');
  await dialog.getByRole('button', { name: 'Create a notification' }).click();
  const secret = dialog.locator('code');
  await secret.getByText(/^whsec_/).waitFor();
  const value = await secret.innerText();
  await pages.button('I have stored the secret').click();
  const article = page.getByRole('article', { name: 'ops' });
  await article.getByText('No messages were sent yet.').waitFor();
  t.notMatch(await page.content(), value, 'the secret is shown only once');
  t.notMatch(await page.content(), path, 'the URL can contain a secret of the receiver');
  t.match(await targets(), [
    {
      name: 'ops',
      url: `https://hooks.invalid/${path}`,
      events: ['deployment.failed', 'deployment.superseded', 'deployment.cancelled'],
      apps: ['api', 'worker'],
    },
  ]);

  await pages.button('Send a test message').click();
  await article.getByRole('alert').getByText('The test message is not delivered').waitFor();
  const messages = await platform.json<{ type: string }[]>(['notification', 'deliveries', 'ops', ...inProject]);
  t.match(messages, [{ type: 'notification.test' }]);
  await checkAccessibility(t, page, 'notification');

  await pages.button('Edit').click();
  await dialog.getByLabel('Name, such as ops').fill('alarm');
  await dialog.getByLabel('Only these apps').fill('');
  await dialog.getByText('svc notification update ops --name alarm --all-apps').waitFor();
  await dialog.getByRole('button', { name: 'Save' }).click();
  const renamed = page.getByRole('article', { name: 'alarm' });
  await renamed.getByRole('button', { name: 'Disable' }).click();
  await renamed.getByRole('button', { name: 'Enable' }).waitFor();
  const [changed] = await targets();
  t.match(changed, { name: 'alarm', enabled: false, url: `https://hooks.invalid/${path}` });
  t.notOk(changed?.['apps'], 'all apps');
  t.equal(await pages.button('Send a test message').count(), 0, 'a disabled target gets no message');

  await pages.button('Replace the secret').click();
  await dialog.getByRole('button', { name: 'Replace the secret' }).click();
  await secret.getByText(/^whsec_/).waitFor();
  t.not(await secret.innerText(), value);
  await pages.button('I have stored the secret').click();
  await renamed.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('This project notifies nobody.').waitFor();
  t.same(await targets(), []);
});

/** What the buttons do that a page has besides those of each page. */
async function buttonsOf(t: Test, page: Awaited<ReturnType<typeof visit>>['page']): Promise<string[]> {
  t.notOk(await overflows(page), page.url());
  const names = await page.getByRole('button').allInnerTexts();
  return names.filter((name) => !['Search', 'Assistant', 'Sign out', 'Copy'].includes(name));
}

t.test('on a phone nothing is cut off, and a viewer sees no button that the API would refuse', async (t) => {
  await platform.ok(['token', 'create', 'of-an-admin', '--scope', 'read', ...inProject]);
  const { page, pages } = await visit(t, projectPath, { user: viewer, width: 360 });
  await pages.row('prod').waitFor();
  t.equal(await pages.link('Notifications').count(), 0);
  t.same(await buttonsOf(t, page), []);
  await pages.link('Members').click();
  await pages.row(viewer.email).getByText('you').waitFor();
  t.same(await buttonsOf(t, page), []);
  await pages.link('Settings').click();
  await page.getByText('Your role').waitFor();
  t.same(await buttonsOf(t, page), []);
  await pages.open(`${projectPath}/notifications`);
  await page.getByText('Only admins of the project see its notifications.').waitFor();
  t.same(await buttonsOf(t, page), []);
  await pages.open(`${projectPath}/audit`);
  await page.getByText('Only admins of the project see its audit log.').waitFor();
  t.same(await buttonsOf(t, page), []);
  await pages.open(`/account?project=${project}`);
  await pages.row('of-an-admin').waitFor();
  await pages.button('Create a token').waitFor();
  t.same(await buttonsOf(t, page), ['Create a token', 'Save password'], 'and none to revoke the token of another');
  await pages.button('Create a token').click();
  const boxes = pages.dialog().getByRole('checkbox');
  await eventually(
    () => boxes.count(),
    (count) => count === 2,
  );
  t.same(await pages.dialog().locator('label code').allInnerTexts(), ['read', 'logs:read']);
  t.notOk(await overflows(page), 'new token');
});

t.test('a project is created and deleted', async (t) => {
  const name = uniqueName('made');
  const title = '<img src=x onerror=alert(1)>';
  t.teardown(() => platform.svc(['project', 'delete', name, '--yes', '--no-wait']));
  const { page, pages } = await visit(t, '/', { user: member });
  await page.getByText('You have no projects yet.').waitFor();
  await pages.button('Create a project').click();
  const dialog = pages.dialog();
  await dialog.getByLabel('Name, such as shop').fill(name);
  await dialog.getByLabel('Title (optional)').fill(title);
  await dialog.getByLabel('Environments, separated by commas').fill('prod, staging');
  await dialog.getByText(`svc project create ${name} --title '${title}'`).waitFor();
  await dialog.getByRole('button', { name: 'Create a project' }).click();
  await pages.heading(name).waitFor();
  await page.getByText(title, { exact: true }).waitFor();
  await pages.row('staging').getByText('ready').waitFor();
  t.match(await platform.json(['project', 'show', name]), {
    displayName: title,
    environments: [{ name: 'prod' }, { name: 'staging' }],
  });

  await page.keyboard.press('ControlOrMeta+k');
  await page.getByRole('combobox').fill('notifications');
  await page.getByRole('option', { selected: true }).filter({ hasText: 'Notifications' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByText('This project notifies nobody.').waitFor();
  await pages.link('Settings').click();
  await pages.button('Delete this project').click();
  await checkAccessibility(t, page, 'deletion of a project');
  await page.getByLabel(`Type ${name} to confirm`).fill(name);
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
  await pages.heading('Projects').waitFor();
  await eventually(
    () => platform.svc(['project', 'show', name]),
    ({ code }) => code !== 0,
  );
});

t.test('no page of these tests had an error, or did what its policy forbids', (t) => {
  t.same(browser.faults, []);
  t.end();
});
