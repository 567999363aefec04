import t from 'tap';
import { checkAccessibility, overflows } from '../../support/console/browser.ts';
import { startVisitor } from '../../support/console/visitor.ts';
import { runningPlatform, uniqueName } from '../../support/platform.ts';

const platform = await runningPlatform();
const { browser, visit } = await startVisitor(t, platform);

interface User {
  email: string;
  role: string;
  status: string;
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

t.test('a member finds no way to the pages for admins, and a direct visit says why', async (t) => {
  const user = { email: `${uniqueName('member')}@svc.local`, password: uniqueName('a-long-passphrase-') };
  await platform.ok(['user', 'create', user.email, '--password-stdin'], user.password);
  t.teardown(() => platform.svc(['user', 'delete', user.email, '--yes']));
  const { page, pages } = await visit(t, '/', { user, width: 360 });
  await pages.heading('Projects').waitFor();
  t.equal(await pages.link('Users').count(), 0);
  await page.keyboard.press('ControlOrMeta+k');
  await page.getByRole('combobox').fill('users');
  await page.getByText('Nothing has this name.').waitFor();
  await page.keyboard.press('Escape');
  const requests: string[] = [];
  page.on('request', (request) => requests.push(new URL(request.url()).pathname));
  for (const path of ['/users', `/users/${user.email}`]) {
    await pages.open(path);
    await page.getByText('Only platform admins can see this page.').waitFor();
    const names = await page.getByRole('main').getByRole('button').allInnerTexts();
    t.same(names, ['Copy'], path);
    t.notOk(await overflows(page), path);
    await checkAccessibility(t, page, `${path} for a member`);
  }
  t.same(
    requests.filter((path) => path.startsWith('/api/v1/users')),
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
});

t.test('no page of these tests had an error, or did what its policy forbids', (t) => {
  t.same(browser.faults, []);
  t.end();
});
