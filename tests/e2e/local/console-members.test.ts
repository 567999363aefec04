import t, { type Test } from 'tap';
import { checkAccessibility, overflows } from '../../support/console/browser.ts';
import { startVisitor } from '../../support/console/visitor.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../../support/platform.ts';

const platform = await runningPlatform();
const { api } = platform.info;
const { browser, visit } = await startVisitor(t, platform);
const { project } = await testProject(t, platform);
const inProject = ['--project', project];
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
  await checkAccessibility(t, page, 'token');
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

/** What the buttons do that a page has besides those of each page. */
async function buttonsOf(t: Test, page: Awaited<ReturnType<typeof visit>>['page']): Promise<string[]> {
  t.notOk(await overflows(page), page.url());
  const names = await page.getByRole('button').allInnerTexts();
  return names.filter((name) => !['Search', 'Sign out', 'Copy'].includes(name));
}

t.test('on a phone nothing is cut off, and a viewer sees no button that the API would refuse', async (t) => {
  await platform.ok(['token', 'create', 'of-an-admin', '--scope', 'read', ...inProject]);
  const { page, pages } = await visit(t, `/account?project=${project}`, { user: viewer, width: 360 });
  await pages.row('of-an-admin').waitFor();
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

t.test('no page of these tests had an error, or did what its policy forbids', (t) => {
  t.same(browser.faults, []);
  t.end();
});
