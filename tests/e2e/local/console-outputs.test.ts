import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { checkAccessibility, overflows } from '../../support/console/browser.ts';
import { startVisitor } from '../../support/console/visitor.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../../support/platform.ts';

const platform = await runningPlatform();
const { browser, visit } = await startVisitor(t, platform);
const { project, flags } = await testProject(t, platform);
const place = `/projects/${project}/environments/prod`;
const hostile = '<img src=x onerror=alert(1)>';

interface Image {
  name: string;
  inUse: boolean;
}

const images = () => platform.json<Image[]>(['image', 'list', ...flags]);

t.test('images of builds are listed, pruned and deleted, and a viewer sees them without buttons', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-console-images-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const { page, pages } = await visit(t, `${place}/images`);
  await page.getByText('No build has made an image here.').waitFor();
  await checkAccessibility(t, page, 'no images');
  for (const word of ['one', 'two', 'three']) {
    writeFileSync(join(folder, 'index.html'), word);
    await platform.ok(['deploy', folder, '--name', 'site', ...flags]);
  }
  const [current, second, first] = await images();
  if (!current || !second || !first) throw new Error('there are no three images');
  await pages.row(first.name).waitFor();
  await pages.row(current.name).getByText('site 3 in prod').waitFor();
  await checkAccessibility(t, page, 'images');
  t.equal(await pages.button(`Delete ${current.name}`).count(), 0, 'an image in use is not deleted');

  await page.getByLabel('App').selectOption('site');
  t.equal(new URL(page.url()).searchParams.get('app'), 'site');
  await pages.row(first.name).waitFor();
  await pages.button('Delete unused images').click();
  const dialog = pages.dialog();
  await dialog.getByLabel('Images to keep of each app').fill('2');
  await dialog.getByText('svc image prune --keep 2 --app site --dry-run').waitFor();
  await dialog.getByRole('button', { name: 'Show what is deleted' }).click();
  await dialog.getByRole('listitem').getByText(first.name).waitFor();
  t.equal((await images()).length, 3, 'what is only shown stays');
  await checkAccessibility(t, page, 'delete unused images');
  await dialog.getByLabel('Images to keep of each app').fill('3');
  t.equal(await dialog.getByRole('listitem').count(), 0, 'another number is another question');
  await dialog.getByRole('button', { name: 'Show what is deleted' }).click();
  await dialog.getByText('There is nothing to delete.').waitFor();
  await dialog.getByLabel('Images to keep of each app').fill('2');
  await dialog.getByRole('button', { name: 'Show what is deleted' }).click();
  await dialog.getByRole('button', { name: 'Delete one image' }).click();
  await page.getByText('One image is being deleted.').waitFor();
  await eventually(images, (left) => left.every(({ name }) => name !== first.name));

  await pages.button(`Delete ${second.name}`).click();
  await dialog.getByText(`svc image delete ${second.name}`).waitFor();
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  await eventually(images, (left) => left.length === 1);
  await page.reload();
  await pages.row(current.name).waitFor();
  t.equal(await pages.row(second.name).count(), 0);

  const user = { email: `${uniqueName('viewer')}@svc.local`, password: uniqueName('a-long-passphrase-') };
  await platform.ok(['user', 'create', user.email, '--password-stdin'], user.password);
  await platform.ok(['member', 'set', user.email, '--role', 'viewer', '--project', project]);
  const viewer = await visit(t, `${place}/images`, { user, width: 360 });
  await viewer.pages.row(current.name).waitFor();
  t.same(await viewer.page.getByRole('main').getByRole('button').allInnerTexts(), ['Copy']);
  t.notOk(await overflows(viewer.page), 'images on a phone');
});

t.test('the palette finds these pages, and opens the form of a notification', async (t) => {
  const { page, pages } = await visit(t, place);
  const open = async (words: string) => {
    await page.keyboard.press('ControlOrMeta+k');
    await page.getByRole('dialog').getByRole('combobox').fill(words);
    await page.getByRole('option', { selected: true }).filter({ hasText: words }).waitFor();
    await page.keyboard.press('Enter');
  };
  await pages.heading(`${project} / prod`).waitFor();
  await open('Images');
  await pages.heading('Images').waitFor();
  t.equal(pages.path(), `${place}/images`);
  await open('Log drain');
  await page.getByRole('heading', { level: 2, name: 'Log drain' }).waitFor();
  await open('Create a notification of alerts');
  await pages.dialog().getByRole('heading', { name: 'Create a notification' }).waitFor();
  t.equal(pages.path(), '/platform/notifications');
});

t.test('a platform admin is notified of alerts', async (t) => {
  const name = uniqueName('ops');
  const renamed = `${name}-2`;
  interface Target {
    name: string;
    url: string;
    events: string[];
    enabled: boolean;
  }
  const target = async (named: string) =>
    (await platform.json<Target[]>(['platform', 'notification', 'list'])).find((each) => each.name === named);
  t.teardown(async () => {
    for (const each of [name, renamed]) await platform.svc(['platform', 'notification', 'delete', each, '--yes']);
  });
  const { page, pages } = await visit(t, '/platform/notifications');
  await pages.button('Create a notification').click();
  const dialog = pages.dialog();
  await dialog.getByLabel('Name, such as ops').fill(name);
  await dialog.getByLabel('Target URL').fill('https://hooks.invalid/T0000-not-for-everyone');
  await dialog.getByRole('checkbox', { name: 'an alert ends' }).uncheck();
  await dialog.getByText(/^svc platform notification create .* --event firing$/).waitFor();
  t.equal(await dialog.getByLabel('Only these apps').count(), 0, 'alerts have no apps');
  await checkAccessibility(t, page, 'new notification of alerts');
  await dialog.getByRole('button', { name: 'Create a notification' }).click();
  const secret = dialog.locator('code');
  await secret.getByText(/^whsec_/).waitFor();
  const value = await secret.innerText();
  await pages.button('I have stored the secret').click();
  const article = page.getByRole('article', { name, exact: true });
  await article.getByText('No messages were sent yet.').waitFor();
  t.notMatch(await page.content(), value, 'the secret is shown only once');
  t.notMatch(await page.content(), 'T0000-not-for-everyone', 'the URL can contain a secret of the receiver');
  t.match(await target(name), { events: ['alert.firing'], enabled: true });

  await pages.button('Send a test message').click();
  await article.getByRole('alert').getByText('The test message is not delivered').waitFor();
  const messages = await platform.json<{ type: string }[]>(['platform', 'notification', 'deliveries', name]);
  t.match(messages, [{ type: 'notification.test' }]);
  await checkAccessibility(t, page, 'notification of alerts');

  await pages.button('Edit').click();
  await dialog.getByLabel('Name, such as ops').fill(renamed);
  await dialog.getByRole('checkbox', { name: 'an alert ends' }).check();
  await dialog.getByText(`${name} --name ${renamed} --event firing --event resolved`).waitFor();
  await dialog.getByRole('button', { name: 'Save' }).click();
  const changed = page.getByRole('article', { name: renamed, exact: true });
  await changed.getByRole('button', { name: 'Disable' }).click();
  await changed.getByRole('button', { name: 'Enable' }).waitFor();
  t.match(await target(renamed), { events: ['alert.firing', 'alert.resolved'], enabled: false });
  await page.setViewportSize({ width: 360, height: 740 });
  t.notOk(await overflows(page), 'notifications on a phone');
  await changed.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByText(`svc platform notification delete ${renamed}`).waitFor();
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
  await changed.waitFor({ state: 'detached' });
  t.equal(await target(renamed), undefined);
});

t.test('a platform admin sets, tests and removes the log drain', async (t) => {
  const { page, pages } = await visit(t, '/platform');
  // Other tests use the drain at the same time, so most requests do not arrive: tests of the API say what they do.
  const sent: unknown[] = [];
  let drain: Record<string, unknown> | undefined;
  await page.route(/\/platform\/log-drain/, async (route) => {
    const request = route.request();
    const { pathname } = new URL(request.url());
    if (request.method() === 'GET') {
      const missing = { status: 404, json: { code: 'not_found', message: 'The platform has no log drain.' } };
      await route.fulfill(drain ? { json: drain } : missing);
      return;
    }
    sent.push([request.method(), pathname, request.postDataJSON()]);
    const times = { createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' };
    const counts = { sentLines: 12_345, refusedLines: 1, deletedLines: 0, pendingLines: 0 };
    const test = { id: '1', status: 'failed', at: times.createdAt, error: hostile };
    if (request.method() === 'DELETE') drain = undefined;
    else if (request.method() === 'PUT') {
      const settings = { url: `https://${hostile}`, format: 'loki', headers: ['Authorization'], networks: [] };
      drain = { ...settings, ...counts, ...times, status: 'failing', error: hostile, failingSince: times.createdAt };
    } else drain = { ...drain, test };
    await route.fulfill(request.method() === 'DELETE' ? { status: 204 } : { json: drain?.['test'] ?? drain });
  });
  await pages.link('Log drain').click();
  await page.getByText('There is no log drain.').waitFor();
  await checkAccessibility(t, page, 'no log drain');
  const dialog = pages.dialog();
  const save = dialog.getByRole('button', { name: 'Save' });
  await pages.button('Set a log drain').click();
  await dialog.getByLabel('Address, https://').fill('http://loki.example.com');
  await dialog.getByText('The address is not encrypted').waitFor();
  await dialog.getByLabel('Headers, one').fill('Authorization Bearer of-the-log-drain');
  await dialog.getByText('These lines are no header: 1.').waitFor();
  t.ok(await save.isDisabled());
  await dialog.getByLabel('Headers, one').fill('Authorization: Bearer of-the-log-drain');
  await dialog.getByLabel('Private networks').fill('10.20.7.0/24');
  const command = 'svc platform log-drain set --url http://loki.example.com --format loki --network 10.20.7.0/24';
  await dialog.getByText(`${command} --headers-stdin < headers`, { exact: true }).waitFor();
  await checkAccessibility(t, page, 'set a log drain');
  await save.click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByText('12,345 lines').waitFor();
  t.notMatch(await page.content(), 'of-the-log-drain', 'headers are never shown');
  await pages.button('Send a test line').click();
  await pages.alert().getByText(`The test line is not delivered: ${hostile}`).waitFor();
  await checkAccessibility(t, page, 'a log drain that fails');
  await page.setViewportSize({ width: 360, height: 740 });
  t.notOk(await overflows(page), 'the log drain on a phone');
  await pages.button('Edit').click();
  await dialog.getByText('These headers are removed: Authorization.').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await pages.button('Remove').click();
  await dialog.getByText('svc platform log-drain remove').waitFor();
  await dialog.getByRole('button', { name: 'Remove' }).click();
  await page.getByText('There is no log drain.').waitFor();
  const path = '/api/v1/platform/log-drain';
  const headers = { Authorization: 'Bearer of-the-log-drain' };
  t.same(sent, [
    ['PUT', path, { url: 'http://loki.example.com', format: 'loki', headers, networks: ['10.20.7.0/24'] }],
    ['POST', `${path}/test`, null],
    ['DELETE', path, null],
  ]);

  // What the API refuses changes nothing.
  await page.unroute(/\/platform\/log-drain/);
  await page.reload();
  const open = page.getByRole('button', { name: /^(Set a log drain|Edit)$/ });
  await open.click();
  await dialog.getByLabel('Address, https://').fill('ftp://loki.example.com');
  await save.click();
  await dialog.getByRole('alert').getByText('invalid_value').waitFor();
});

t.test('no page of these tests had an error, or did what its policy forbids', (t) => {
  t.same(browser.faults, []);
  t.end();
});
