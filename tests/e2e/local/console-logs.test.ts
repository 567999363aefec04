import t from 'tap';
import { checkAccessibility, overflows } from '../../support/console/browser.ts';
import { startVisitor } from '../../support/console/visitor.ts';
import { codeFile } from '../../support/code-file.ts';
import { eventually, runningPlatform, testProject } from '../../support/platform.ts';

const platform = await runningPlatform();
const { browser, visit } = await startVisitor(t, platform);
const { project, flags } = await testProject(t, platform);
const address = `/projects/${project}/environments/prod/functions/chatty/logs`;

const code = `
exports.handler = async () => {
  for (let i = 0; i < 300; i++) process.stdout.write('line ' + i + '\\n');
  process.stdout.write('\\u001b[31mred\\u001b[0m <img src=x onerror=alert(1)>\\n');
  process.stdout.write('10 %\\r100 %\\n');
  process.stdout.write(JSON.stringify({ level: 'error', msg: 'it failed', details: { order: 7 } }) + '\\n');
  return { statusCode: 200, body: 'ok' };
};`;

t.before(async () => {
  const file = codeFile(t, 'chatty.js', code);
  await platform.ok(['function', 'create', 'chatty', '--runtime', 'node', '--code-file', file, ...flags]);
});

async function call(): Promise<void> {
  const { url } = await platform.json<{ url: string }>(['function', 'show', 'chatty', ...flags]);
  await platform.request(url);
}

t.test('a log shows what is printed while it is open, and finds lines', async (t) => {
  const { page, pages } = await visit(t, address);
  await page.getByText('No lines in this range.').waitFor();
  await checkAccessibility(t, page, 'an empty log');
  await call();
  const log = page.getByRole('log', { name: 'Log of chatty' });
  await log.getByText('it failed').waitFor();
  await log.getByText('<img src=x onerror=alert(1)>').waitFor();
  await log.getByText('100 %', { exact: true }).waitFor();
  t.match(await log.getByText('red', { exact: true }).getAttribute('class'), /text-red/);
  await checkAccessibility(t, page, 'a log');
  t.equal(await log.getByText('line 0', { exact: true }).count(), 0, 'only lines in view are in the page');

  await log.getByRole('button', { name: 'Fields' }).last().click();
  await log.getByText('"order": 7').waitFor();

  await log.getByRole('button', { name: 'The whole line' }).last().click();
  await log.getByText('10 %\u240D100 %', { exact: true }).waitFor();
  await log.getByRole('button', { name: 'The whole line' }).last().click();
  await page.getByLabel('Search these lines').fill('10 %');
  await page.getByText('1 of 1').waitFor();
  await log.getByText('10 %', { exact: true }).waitFor();
  await checkAccessibility(t, page, 'a line that hides a match');

  await page.getByLabel('Search these lines').fill('LINE 29');
  await page.getByText('11 of 11').waitFor();
  await pages.button('Next match').click();
  await page.getByText('1 of 11').waitFor();
  await log.getByText('line 29', { exact: true }).waitFor();
  t.match(new URL(page.url()).search, /q=LINE/);

  const before = await log.getByText('line 29', { exact: true }).boundingBox();
  await call();
  await page.getByText('of 22').waitFor();
  t.same(await log.getByText('line 29', { exact: true }).first().boundingBox(), before, 'new lines move nothing');
  await pages.button('Go to the newest line').click();
  await log.getByText('it failed').last().waitFor();

  const scrollTop = await page.evaluate(`(async () => {
    const log = document.querySelector('[role="log"]');
    log.scrollTop = 300;
    log.querySelector('[aria-label="Fields"]').click();
    for (let frame = 0; frame < 3; frame++) await new Promise((resolve) => requestAnimationFrame(resolve));
    return log.scrollTop;
  })()`);
  t.equal(scrollTop, 300, 'a change of the page does not take back how far the user has just scrolled');
});

t.test('an address names a level, and a line', async (t) => {
  const { page, pages } = await visit(t, `${address}?level=error`, { width: 360 });
  const log = page.getByRole('log', { name: 'Log of chatty' });
  await log.getByText('it failed').first().waitFor();
  t.equal(await log.getByText('line 299').count(), 0);
  t.notOk(await overflows(page));
  await log
    .getByRole('button', { name: /link to this line$/ })
    .first()
    .click();
  await page.getByText('These are the lines around one of them.').waitFor();
  t.match(new URL(page.url()).searchParams.get('at'), /^\d{4}-/);
  await pages.button('Show the newest lines').click();
  await page.getByText('These are the lines around one of them.').waitFor({ state: 'detached' });
});

t.test('the keyboard alone reaches each line, its link and what it hides', async (t) => {
  const { page } = await visit(t, address);
  const log = page.getByRole('log', { name: 'Log of chatty' });
  await log.getByText('it failed').last().waitFor();
  await log.focus();
  await page.keyboard.press('Tab');
  const lineOf = () => page.evaluate<string>('document.activeElement.parentElement.innerText');
  const focused = () => page.evaluate<string | null>('document.activeElement.getAttribute("aria-label")');
  t.match(await focused(), /link to this line$/, 'Tab leads from the log to the newest line');
  t.match(await lineOf(), /it failed/);
  await page.keyboard.press('ArrowRight');
  await log.getByText('"order": 7').waitFor();
  await checkAccessibility(t, page, 'a line that the keyboard has unfolded');
  await page.keyboard.press('ArrowLeft');
  await log.getByText('"order": 7').waitFor({ state: 'detached' });
  await page.keyboard.press('Tab');
  t.equal(await focused(), 'Fields', 'the second button of the same line');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowUp');
  t.match(await lineOf(), /line 299/);

  // New lines do not take the line away, and Tab leaves the log.
  await call();
  await log.getByText('line 150', { exact: true }).last().waitFor({ state: 'detached' });
  await page.getByText(/^\d{3,} lines$/).waitFor();
  t.match(await lineOf(), /line 299/);
  await page.keyboard.press('Home');
  t.match(await lineOf(), 'function ready', 'the first line');
  await page.keyboard.press('PageDown');
  const line = await lineOf();
  t.match(line, /line [1-9]\d$/, 'a page further down');
  await page.keyboard.press('Enter');
  await page.getByText('These are the lines around one of them.').waitFor();
  t.match(new URL(page.url()).searchParams.get('at'), /^\d{4}-/);
  // Lines that were printed together have the same time.
  const time = line.slice(0, 12);
  await eventually(lineOf, (text) => text.startsWith(time));
  await page.keyboard.press('Shift+Tab');
  t.equal(await page.evaluate('document.activeElement.getAttribute("role")'), 'log');
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Enter');
  await page.getByText('These are the lines around one of them.').waitFor({ state: 'detached' });
  await eventually(
    () => page.evaluate<string | null>('document.activeElement.getAttribute("role")'),
    (role) => role === 'log',
  );
  await page.keyboard.press('?');
  await page.getByRole('dialog').getByText('At a line of a log: go to another line').waitFor();
});

t.test('all lines are downloaded as they were printed', async (t) => {
  const { page, pages } = await visit(t, address);
  await page.getByRole('log').waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), pages.link('Download all').click()]);
  t.equal(download.suggestedFilename(), 'chatty.log.jsonl');
  const chunks: Buffer[] = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  t.match(text, '"line":"line 0"');
  t.match(text, String.raw`\u001b[31mred`);
  t.match(text, '{"end":true');
});

t.test('no page of these tests had an error, or did what its policy forbids', (t) => {
  t.same(browser.faults, []);
  t.end();
});
