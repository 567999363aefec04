import { readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { checkAccessibility, overflows } from '../../support/console/browser.ts';
import { startVisitor } from '../../support/console/visitor.ts';
import { runningPlatform, testProject, uniqueName } from '../../support/platform.ts';

const platform = await runningPlatform();
const { browser, visit } = await startVisitor(t, platform);
const { adminEmail, adminPasswordFile } = platform.info;
const admin = { email: adminEmail, password: readFileSync(adminPasswordFile, 'utf8').trim() };
const { project, flags } = await testProject(t, platform);
const place = `/projects/${project}/environments/prod`;
await platform.ok(['app', 'create', 'shop-api', '--image', 'localhost:5000/svc/hello:v1', ...flags]);
await platform.ok(['service', 'create', 'orders', '--type', 'redis', ...flags]);
await platform.ok(['environment', 'create', 'staging', '--project', project]);
await platform.ok(['volume', 'create', 'archive', '--size', '1Gi', ...flags.slice(0, 2), '--environment', 'staging']);

t.test('the palette finds objects and actions by keyboard alone', async (t) => {
  const { page, pages } = await visit(t, '/', { session: 'own' });
  const field = page.getByRole('combobox');
  const selected = () => page.getByRole('option', { selected: true });
  await pages.row(project).waitFor();

  await page.keyboard.press('ControlOrMeta+k');
  await field.fill(`${project} prod`);
  await selected()
    .filter({ hasText: `${project} / prod` })
    .waitFor();
  await page.keyboard.press('Enter');
  await pages.heading(`${project} / prod`).waitFor();

  await page.keyboard.press('ControlOrMeta+k');
  await field.fill('sapi');
  await selected().filter({ hasText: 'shop-api' }).waitFor();
  await checkAccessibility(t, page, 'palette');
  t.equal(await field.getAttribute('aria-activedescendant'), await selected().getAttribute('id'));
  await page.getByText(`svc app show shop-api --project ${project} --environment prod`).waitFor();
  await page.keyboard.press('Enter');
  await pages.heading('shop-api').waitFor();
  t.equal(pages.path(), `${place}/apps/shop-api`);

  await page.keyboard.press('g');
  await page.keyboard.press('o');
  await pages.heading(`${project} / prod`).waitFor();
  await pages.button('Search').click();
  await selected().filter({ hasText: 'shop-api' }).waitFor();
  t.match(await selected().innerText(), `${project} / prod`, 'the app that was open last is the first');
  // What is in the projects of other tests comes and goes.
  await field.fill(project);
  await selected().filter({ hasText: project }).waitFor();
  await page.keyboard.press('ArrowUp');
  await page.getByRole('option').last().and(selected()).waitFor();
  await page.keyboard.press('Escape');
  await pages.dialog().waitFor({ state: 'detached' });
  t.equal(await page.evaluate('document.activeElement?.textContent'), 'Search', 'the focus is back');

  await page.keyboard.press('ControlOrMeta+k');
  await field.fill('archive');
  await selected().filter({ hasText: 'staging' }).waitFor();
  await page.keyboard.press('Enter');
  await pages.heading('archive').waitFor();
  t.equal(pages.path(), `/projects/${project}/environments/staging/volumes/archive`);

  await page.keyboard.press('ControlOrMeta+k');
  await field.fill('restart shop');
  await selected().filter({ hasText: 'Restart shop-api' }).waitFor();
  await page.keyboard.press('Enter');
  await pages.deployment(2).getByText('current').waitFor();
  t.equal(pages.path(), `${place}/apps/shop-api/deployments`);
  const history = await platform.json<{ trigger: string }[]>(['app', 'history', 'shop-api', ...flags]);
  t.match(history[0], { revision: 2, trigger: 'restart' });

  // The page closes its event stream itself: the API would cut it, which a browser logs as an error.
  const closed = page.waitForEvent('requestfailed', (request) => request.url().includes('/watch'));
  await page.route('**/api/v1/session', async (route) => {
    if (route.request().method() === 'DELETE') t.match((await closed).failure(), { errorText: 'net::ERR_ABORTED' });
    await route.continue();
  });
  await page.keyboard.press('ControlOrMeta+k');
  await field.fill('sign out');
  await page.keyboard.press('Enter');
  await pages.heading('Sign in').waitFor();
  t.equal(await page.evaluate('JSON.stringify({ ...localStorage })'), '{}', 'the next user sees no names');
});

t.test('the palette opens the forms of new objects, for those who may use them', async (t) => {
  const { page, pages } = await visit(t, `${place}/apps/shop-api`);
  const field = page.getByRole('combobox');
  const choose = async (text: string, title: string) => {
    await page.keyboard.press('ControlOrMeta+k');
    await field.fill(text);
    await page.getByRole('option', { selected: true }).filter({ hasText: title }).waitFor();
    await page.keyboard.press('Enter');
  };
  await pages.heading('shop-api').waitFor();
  await choose('create job', 'Create a job');
  await pages.heading('Create a job').waitFor();
  await page.getByLabel('Name', { exact: true }).fill('report');
  await page.getByLabel('Image with registry, name and tag').fill('localhost:5000/svc/hello:v1');
  await page.getByLabel(/^Command, one word/).fill('node\n-e\nconsole.log("a b")');
  await page.getByLabel('Runs', { exact: true }).selectOption('on a schedule');
  await page.getByLabel('Cron expression with five fields').fill('0 4 * * *');
  await page.getByText('At 04:00').waitFor();
  await page.getByLabel('If the previous run is active').selectOption('both run');
  await checkAccessibility(t, page, 'form of a job');
  await page.setViewportSize({ width: 360, height: 740 });
  t.notOk(await overflows(page), 'form of a job');
  await page.setViewportSize({ width: 1440, height: 900 });
  await pages.button('Create the job').click();
  await pages.heading('report').waitFor();
  t.match(await platform.json(['job', 'show', 'report', ...flags]), {
    command: ['node', '-e', 'console.log("a b")'],
    schedule: '0 4 * * *',
    overlap: 'Allow',
  });

  await choose('create environment', 'Create an environment');
  await pages.dialog().getByLabel('Name').fill('quality');
  t.equal(new URL(page.url()).search, '?create=true');
  await pages.dialog().getByRole('button', { name: 'Create an environment' }).click();
  await pages.row('quality').waitFor();
  t.equal(new URL(page.url()).search, '', 'another visit of the address opens no form');
  t.match(await platform.json(['environment', 'list', '--project', project]), [{}, {}, {}]);

  await choose('add member', 'Add a member');
  await pages.dialog().waitFor();
  t.equal(pages.path(), `/projects/${project}/members`);
  await page.reload();
  await pages.dialog().waitFor();
  await page.keyboard.press('Escape');
  await pages.dialog().waitFor({ state: 'detached' });
  t.equal(new URL(page.url()).search, '');

  const user = { email: `${uniqueName('viewer')}@svc.local`, password: uniqueName('a-long-passphrase-') };
  await platform.ok(['user', 'create', user.email, '--password-stdin'], user.password);
  await platform.ok(['member', 'set', user.email, '--role', 'viewer', '--project', project]);
  const viewer = await visit(t, `/projects/${project}?create=true`, { user });
  await viewer.pages.row('quality').waitFor();
  t.equal(await viewer.pages.dialog().count(), 0, 'an address opens no form that would be refused');
  await viewer.page.keyboard.press('ControlOrMeta+k');
  await viewer.page.getByRole('combobox').fill('create');
  await viewer.page.getByRole('option', { name: 'Create a project' }).waitFor();
  t.equal(await viewer.page.getByRole('option', { name: /^Create|^Add/ }).count(), 1);
});

t.test('Back closes a dialog, and the page below stays as it is', async (t) => {
  const { page, pages } = await visit(t, place);
  // As the button of the browser; playwright's own waits for a page that does not come.
  const back = () => page.evaluate('history.back()');
  await pages.link('shop-api').click();
  await pages.link('Variables').click();
  await pages.button('Edit variables').click();
  const editor = page.getByLabel('One NAME=value on each line');
  await editor.fill('WRITTEN=before');
  await pages.button('Search').click();
  await page.getByRole('option', { name: 'shop-api' }).first().waitFor();
  await back();
  await pages.dialog().waitFor({ state: 'detached' });
  await page.waitForURL(`**${place}/apps/shop-api/variables`);
  t.equal(await editor.inputValue(), 'WRITTEN=before');
  t.equal(await page.evaluate('document.activeElement?.textContent'), 'Search', 'the focus is back');
  await back();
  await editor.waitFor({ state: 'detached' });
  await page.waitForURL(`**${place}/apps/shop-api`);

  // What the browser has before the first page is another site.
  const fresh = await visit(t, `${place}/apps/shop-api`);
  await fresh.pages.button('Promote').click();
  await fresh.pages.dialog().waitFor();
  await fresh.page.evaluate('history.back()');
  await fresh.pages.dialog().waitFor({ state: 'detached' });
  await fresh.page.waitForURL(`**${place}/apps/shop-api`);
  t.ok(await fresh.pages.button('Promote').isVisible());

  await platform.ok(['plan', 'create', 'small', '--rate', '5', '--burst', '10', ...flags]);
  // The list for the form comes late, as on a slow network; the page has read its own before.
  let reads = 0;
  const { promise: names, resolve: release } = Promise.withResolvers<undefined>();
  await page.route(/\/plans\?.*\blimit=/, async (route) => {
    if (++reads > 1) await names;
    await route.continue();
  });
  await pages.open(`${place}/keys?create=true`);
  const create = pages.dialog().getByRole('button', { name: 'Create a key' });
  await create.waitFor();
  await pages.dialog().getByRole('status').getByText('Loading…').waitFor();
  t.ok(await create.isDisabled(), 'no key without a plan');
  release(undefined);
  await create.click();
  const key = page.getByRole('dialog', { name: 'Copy the key now' });
  await key.waitFor();
  await back();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  t.ok(await key.isVisible(), 'a key that is shown once stays');
  await pages.button('I have stored the key').click();
  await pages.dialog().waitFor({ state: 'detached' });
  t.equal(pages.path(), `${place}/keys`);
});

t.test('shortcuts work outside of text fields, and can be switched off', async (t) => {
  const { page, pages } = await visit(t, place);
  await pages.heading(`${project} / prod`).waitFor();
  await page.keyboard.press('?');
  await pages.dialog().getByRole('row', { name: 'g then p' }).waitFor();
  await checkAccessibility(t, page, 'shortcuts');
  await page.keyboard.press('g');
  await page.keyboard.press('p');
  t.equal(pages.path(), place, 'not while a dialog is open');
  await page.getByLabel('Use shortcuts of single keys').uncheck();
  await page.keyboard.press('Escape');
  await page.keyboard.press('?');
  t.equal(await pages.dialog().count(), 0, 'they are off');

  await page.keyboard.press('ControlOrMeta+k');
  await page.getByRole('combobox').fill('keyboard');
  await page.keyboard.press('Enter');
  await page.getByLabel('Use shortcuts of single keys').check();
  await page.keyboard.press('Escape');
  await pages.dialog().waitFor({ state: 'detached' });
  await page.keyboard.press('/');
  await page.getByRole('combobox').fill('');
  await page.keyboard.type('gp?');
  t.equal(await page.getByRole('combobox').inputValue(), 'gp?', 'keys in a field write');
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('p');
  await pages.heading('Projects').waitFor();
  t.equal(await pages.link('Projects').getAttribute('aria-current'), 'page');
});

t.test('on a narrow screen, navigation and palette fit', async (t) => {
  const { page, pages } = await visit(t, place, { width: 360 });
  await pages.row('shop-api').waitFor();
  t.notOk(await overflows(page), 'navigation');
  await pages.button('Search').click();
  await page.getByRole('option', { name: 'orders' }).first().waitFor();
  t.notOk(await overflows(page), 'palette');
  await checkAccessibility(t, page, 'palette on a phone');
});

/** A browser whose errors are expected: they are the matter of the test. */
async function visitor(t: Test) {
  const own = await startVisitor(t, platform);
  return own.visit(t, `${place}/apps/shop-api/variables`);
}

const apiPaths = /\/api\/v1\//;

t.test('while the API does not answer, the page says so, keeps what it shows, and recovers by itself', async (t) => {
  const { page, pages } = await visitor(t);
  await page.getByText('This app has no variables.').waitFor();
  const heading = await pages.heading('shop-api').boundingBox();
  const banner = page.getByRole('status').filter({ hasText: 'The API has not answered since' });
  await page.context().setOffline(true);
  await banner.waitFor();
  await checkAccessibility(t, page, 'outage');
  t.ok(await page.getByText('This app has no variables.').isVisible());
  t.equal(await pages.alert().count(), 0, 'one message is enough');
  t.same(await pages.heading('shop-api').boundingBox(), heading, 'nothing has moved');
  await page.context().setOffline(false);
  await banner.waitFor({ state: 'detached' });

  // A restart: the ingress has nobody to send requests to, and then connections end.
  await page.route(apiPaths, (route) => route.fulfill({ status: 503, body: 'no available server' }));
  await pages.button('Restart').click();
  await banner.waitFor();
  await pages.alert().getByText('unexpected_response').waitFor();
  await page.unroute(apiPaths);
  await banner.waitFor({ state: 'detached' });

  await page.route(apiPaths, (route) => route.abort('connectionrefused'));
  await pages.button('Restart').click();
  await banner.waitFor();
  await pages.alert().getByText('unreachable').waitFor();
  await platform.ok(['app', 'env', 'set', 'shop-api', 'DURING=outage', ...flags]);
  await page.unroute(apiPaths);
  await pages.row('DURING').waitFor();
  await banner.waitFor({ state: 'detached' });
});

t.test('a slow list, a refusal of the server and a defect in a page are shown as what they are', async (t) => {
  const { page, pages } = await visitor(t);
  await pages.row('DURING').waitFor();
  const list = /\/apps\?/;
  const { promise: released, resolve: release } = Promise.withResolvers<undefined>();
  await page.route(list, async (route) => {
    await released;
    await route.continue();
  });
  await pages.link('prod').click();
  await page.getByRole('status').filter({ hasText: 'Loading…' }).first().waitFor();
  const before = await pages.heading(`${project} / prod`).boundingBox();
  release(undefined);
  await pages.row('shop-api').waitFor();
  t.same(await pages.heading(`${project} / prod`).boundingBox(), before);
  await page.unroute(list);

  await pages.link('shop-api').click();
  await pages.heading('shop-api').waitFor();
  const body = JSON.stringify({ code: 'internal', message: 'Something went wrong.' });
  const headers = { 'content-type': 'application/json', 'x-request-id': 'request-17' };
  await page.route(list, (route) => route.fulfill({ status: 500, headers, body }));
  await pages.link('prod').click();
  t.match(await pages.alert().innerText(), /Something went wrong\.\s+Code internal · Request ID request-17/);
  await page.unroute(list);
  await pages.button('Try again').click();
  await pages.row('shop-api').waitFor();

  await page.route(/\/projects\?/, (route) => route.fulfill({ json: { items: [{}] } }));
  await pages.link('Projects').click();
  await page.getByText('This page has a defect and cannot be shown.').waitFor();
  t.match(await pages.alert().innerText(), /Code page_defect/);
  await checkAccessibility(t, page, 'defect');
  await page.keyboard.press('?');
  await pages.dialog().getByRole('button', { name: 'Close' }).click();
  await page.unroute(/\/projects\?/);
  await pages.link('Reload the page').click();
  await pages.row(project).waitFor();
});

t.test('when the session ends, what was written is there after signing in again', async (t) => {
  const { page, pages } = await visit(t, `${place}/apps/shop-api/variables`);
  await pages.button('Edit variables').click();
  const editor = page.getByLabel('One NAME=value on each line');
  await editor.fill('WRITTEN=before');
  await page.getByRole('button', { name: /^Save/ }).focus();
  await page.context().clearCookies({ name: /svc_session$/ });
  // Not a click: the page may have asked for something else already, and be covered.
  await page.keyboard.press('Enter');
  const dialog = pages.dialog();
  await dialog.getByText('Your session has ended.').waitFor();
  await checkAccessibility(t, page, 'session ended');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  // It stays until the user signs in.
  await dialog.waitFor();
  await pages.signIn(admin.email, admin.password);
  await dialog.waitFor({ state: 'detached' });
  t.equal(await editor.inputValue(), 'WRITTEN=before');
  await page.getByRole('button', { name: /^Save/ }).click();
  await pages.row('WRITTEN').waitFor();
  const { variables } = await platform.json<{ variables: object }>(['app', 'env', 'list', 'shop-api', ...flags]);
  t.same(variables, { WRITTEN: 'before' });
});

t.test('another user who signs in finds nothing of the user before', async (t) => {
  const email = `${uniqueName('other')}@svc.local`;
  const password = uniqueName('a-long-passphrase-');
  await platform.ok(['user', 'create', email, '--password-stdin'], password);
  const { page, pages } = await visit(t, `${place}/apps/shop-api/variables`);
  await pages.button('Edit variables').click();
  await pages.button('Restart').focus();
  await page.context().clearCookies({ name: /svc_session$/ });
  await page.keyboard.press('Enter');
  await pages.dialog().getByText('Your session has ended.').waitFor();
  await pages.signIn(email, password);
  await page.getByText('You have no projects yet.').waitFor();
  t.equal(pages.path(), '/');
  await page.keyboard.press('ControlOrMeta+k');
  await page.getByRole('combobox').fill('shop');
  await page.getByText('Nothing has this name.').waitFor();
});

t.test('no page of these tests had an error, or did what its policy forbids', (t) => {
  t.same(browser.faults, []);
  t.end();
});
