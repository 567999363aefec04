import t from 'tap';
import { checkAccessibility, overflows } from '../../support/console/browser.ts';
import { startVisitor } from '../../support/console/visitor.ts';
import { runningPlatform, testProject } from '../../support/platform.ts';

const platform = await runningPlatform();
const { browser, visit } = await startVisitor(t, platform);
const { project, flags } = await testProject(t, platform);
const place = `/projects/${project}/environments/prod`;
await platform.ok(['app', 'create', 'shop-api', '--image', 'localhost:5000/svc/hello:v1', ...flags]);
await platform.ok(['service', 'create', 'orders', '--type', 'redis', ...flags]);

t.test('the palette finds objects and actions by keyboard alone', async (t) => {
  const { page, pages } = await visit(t);
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
  await page.keyboard.press('ArrowUp');
  t.match(await selected().innerText(), 'Sign out', 'from the first line up to the last');
  await page.keyboard.press('Escape');
  await pages.dialog().waitFor({ state: 'detached' });
  t.equal(await page.evaluate('document.activeElement?.textContent'), 'Search', 'the focus is back');

  await page.keyboard.press('ControlOrMeta+k');
  await field.fill('restart shop');
  await selected().filter({ hasText: 'Restart shop-api' }).waitFor();
  await page.keyboard.press('Enter');
  await pages.deployment(2).getByText('current').waitFor();
  t.equal(pages.path(), `${place}/apps/shop-api/deployments`);
  const history = await platform.json<{ trigger: string }[]>(['app', 'history', 'shop-api', ...flags]);
  t.match(history[0], { revision: 2, trigger: 'restart' });

  await page.keyboard.press('ControlOrMeta+k');
  await field.fill('sign out');
  await page.keyboard.press('Enter');
  await pages.heading('Sign in').waitFor();
  t.equal(await page.evaluate('JSON.stringify({ ...localStorage })'), '{}', 'the next user sees no names');
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

t.test('no page of these tests had an error, or did what its policy forbids', (t) => {
  t.same(browser.faults, []);
  t.end();
});
