import t from 'tap';
import { checkAccessibility, overflows } from '../../support/console/browser.ts';
import { startVisitor } from '../../support/console/visitor.ts';
import { runningPlatform, testProject, uniqueName } from '../../support/platform.ts';

const platform = await runningPlatform();
const { browser, visit } = await startVisitor(t, platform);
const { project, flags } = await testProject(t, platform);
const place = `/projects/${project}/environments/prod`;

await platform.ok(['service', 'create', 'cache', '--type', 'redis', ...flags]);
await platform.ok(['volume', 'create', 'data', '--size', '1Gi', ...flags]);
const imageFlags = ['--image', 'registry.example.com/shop/report:1.0', '--bind', 'cache', '--volume', 'data:/data'];
await platform.ok(['job', 'create', 'report', ...imageFlags, ...flags]);

t.test('on a phone nothing is cut off, and a viewer sees no button that the API would refuse', async (t) => {
  const user = { email: `${uniqueName('viewer')}@svc.local`, password: uniqueName('a-long-passphrase-') };
  await platform.ok(['user', 'create', user.email, '--password-stdin'], user.password);
  await platform.ok(['member', 'set', user.email, '--role', 'viewer', '--project', project]);
  const { page, pages } = await visit(t, `${place}/services/cache`, { width: 360, user });
  const shown = async () => {
    t.notOk(await overflows(page), page.url());
    const names = await page.getByRole('button').allInnerTexts();
    return names.filter((name) => !['Search', 'Assistant', 'Sign out', 'Copy'].includes(name));
  };
  await page.getByText('Job report').waitFor();
  t.same(await shown(), []);
  await pages.open(`${place}/volumes/data`);
  await page.getByText('report (job)').waitFor();
  t.same(await shown(), []);
  await pages.open(`${place}/services/missing`);
  t.match(await pages.alert().first().innerText(), /not_found/);
});

t.test('a service shows who is bound to it, and its credentials only on request', async (t) => {
  const { password } = await platform.json<{ password: string }>(['service', 'credentials', 'cache', ...flags]);
  const { page, pages } = await visit(t, place);
  await pages.link('cache').click();
  await pages.heading('cache').waitFor();
  await page.getByText('Job report').waitFor();
  await checkAccessibility(t, page, 'service');
  await pages.button('Show credentials').click();
  t.notMatch(await page.content(), password, 'not before the user has confirmed');
  await pages.dialog().getByRole('button', { name: 'Show credentials' }).click();
  await pages.dialog().getByText(password, { exact: true }).waitFor();
  await checkAccessibility(t, page, 'credentials');
  await pages.button('Close').click();
  t.notMatch(await page.content(), password, 'not after the dialog');
});

t.test('a volume shows who mounts it, and says why it cannot grow or be deleted', async (t) => {
  const { page, pages } = await visit(t, place);
  await pages.link('data').click();
  await page.getByText('report (job)').waitFor();
  await checkAccessibility(t, page, 'volume');
  await pages.button('Grow').click();
  await page.getByLabel('New size, such as 20Gi').fill('512Mi');
  await pages.dialog().getByRole('button', { name: 'Grow' }).click();
  await pages.dialog().getByRole('alert').waitFor();
  await checkAccessibility(t, page, 'refused growth');
  await pages.dialog().getByRole('button', { name: 'Cancel' }).click();
  await pages.button('Delete this volume').click();
  await page.getByLabel('Type data to confirm').fill('data');
  await pages.dialog().getByRole('button', { name: 'Delete', exact: true }).click();
  await pages.dialog().getByText('in_use').waitFor();
});

t.test('services and volumes that nothing uses are deleted', async (t) => {
  await platform.ok(['job', 'delete', 'report', '--yes', ...flags]);
  const { page, pages } = await visit(t, place);
  for (const [kind, name] of [
    ['service', 'cache'],
    ['volume', 'data'],
  ] as const) {
    await pages.link(name).click();
    await pages.button(`Delete this ${kind}`).click();
    const confirm = pages.dialog().getByRole('button', { name: 'Delete', exact: true });
    t.ok(await confirm.isDisabled());
    await page.getByLabel(`Type ${name} to confirm`).fill(name);
    await confirm.click();
    await pages.heading(`${project} / prod`).waitFor();
    await pages.row(name).waitFor({ state: 'detached' });
    t.same(await platform.json([kind, 'list', ...flags]), []);
  }
});

t.test('no page of these tests had an error, or did what its policy forbids', (t) => {
  t.same(browser.faults, []);
  t.end();
});
