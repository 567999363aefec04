import { hash } from 'node:crypto';
import type { Locator, Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { checkAccessibility, overflows, requestInPage } from '../../support/console/browser.ts';
import { startVisitor } from '../../support/console/visitor.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../../support/platform.ts';
import {
  beginStream,
  calls,
  says,
  startScriptedProvider,
  textEvent,
  writeEvent,
  type ScriptStep,
} from '../../support/scripted-provider.ts';

const platform = await runningPlatform();
const { browser, visit } = await startVisitor(t, platform);
const { project, flags } = await testProject(t, platform);
const place = `/projects/${project}/environments/prod`;
await platform.ok(['app', 'create', 'api', '--image', 'localhost:5000/svc/hello:v1', ...flags]);
const provider = await startScriptedProvider(t);
// A run that was interrupted can have left one.
await platform.svc(['platform', 'assistant', 'disable']);
t.teardown(() => platform.svc(['platform', 'assistant', 'disable']));
const user = { email: `${uniqueName('asker')}@svc.local`, password: uniqueName('a-long-passphrase-') };
await platform.ok(['user', 'create', user.email, '--password-stdin'], user.password);
await platform.ok(['member', 'set', user.email, '--role', 'viewer', '--project', project]);

const hostile = '<img src=x onerror=alert(1)>';
const inProd = { environment: 'prod' };
const api = { kind: 'app', name: 'api', ...inProd };

/** Opens the panel on a page. */
async function ask(t: Test, path: string, options: Parameters<typeof visit>[2] = {}) {
  const { page, pages } = await visit(t, path, options);
  await pages.button('Assistant').click();
  const panel = page.getByRole('complementary', { name: 'Assistant' });
  await panel.waitFor();
  const field = panel.getByLabel('Question', { exact: true });
  const send = async (question: string, ...script: ScriptStep[]) => {
    provider.script = script;
    await field.fill(question);
    await page.keyboard.press('Enter');
    return answer(panel, question);
  };
  return { page, pages, panel, field, send };
}

const answer = (panel: Locator, question: string) =>
  panel.getByRole('article', { name: `Question: ${question}`, exact: true });

/** What the API has of the conversations of the page's user, newest first. */
async function stored(page: Page) {
  const path = `/api/v1/projects/${project}/assistant/conversations`;
  const { items } = (await requestInPage(page, path)).body as { items: { id: string }[] };
  const answers = await Promise.all(items.map(({ id }) => requestInPage(page, `${path}/${id}`)));
  return answers.map(({ body }) => body as { id: string; messages: { question: string; status: string }[] });
}

t.test('without a provider, the panel says whom to ask; an admin sets, tests and changes one', async (t) => {
  const member = await ask(t, place, { user });
  await member.panel.getByText('Ask a platform admin.').waitFor();
  await member.panel.getByText('svc platform assistant set').waitFor();
  t.equal(await member.panel.getByRole('link').count(), 0);
  t.equal(await member.field.count(), 0);

  const { page, pages, panel } = await ask(t, place);
  await panel.getByRole('link', { name: 'Provider of the assistant' }).click();
  await page.getByText('The assistant has no AI provider.', { exact: true }).waitFor();
  await page.keyboard.press('Escape');
  await panel.waitFor({ state: 'hidden' });
  t.equal(await page.evaluate('document.activeElement?.textContent'), 'Assistant', 'the focus is on its button');
  await checkAccessibility(t, page, 'no provider');
  await pages.button('Set a provider').click();
  const dialog = pages.dialog();
  await dialog.getByLabel(/^Base address/).fill(provider.url);
  await dialog.getByText('This address is not encrypted').waitFor();
  await dialog.getByLabel('Model').fill('scripted');
  await dialog.getByLabel('API key').fill('key-of-the-provider');
  await dialog.getByLabel('Data level').selectOption('logs');
  t.match(await dialog.innerText(), '--key-stdin --level logs < key');
  t.notMatch(await dialog.innerText(), 'key-of-the-provider');
  await checkAccessibility(t, page, 'new provider');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByText('is in a private network').waitFor();
  await dialog.getByLabel(/^Private networks/).fill('127.0.0.0/8');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  const show = () => platform.json<Record<string, unknown>>(['platform', 'assistant', 'show']);
  t.match(await show(), { url: provider.url, model: 'scripted', key: true, level: 'logs', networks: ['127.0.0.0/8'] });
  t.notMatch(await page.content(), 'key-of-the-provider', 'the key is shown nowhere');

  provider.script = [says('OK')];
  await pages.button('Test').click();
  await page.getByText(/^scripted answered within/).waitFor();
  t.equal(provider.requests.at(-1)?.headers.authorization, 'Bearer key-of-the-provider');
  provider.script = [(response) => void response.writeHead(401).end()];
  await pages.button('Test').click();
  await pages.alert().getByText('provider_refused').waitFor();
  t.equal(await pages.row('logs active').count(), 1);
  await checkAccessibility(t, page, 'provider');

  await pages.button('Edit').click();
  await dialog.getByLabel('Messages of a user per hour').fill('100');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  t.match(await show(), { key: true, messagesPerHour: 100 });
  await page.setViewportSize({ width: 360, height: 740 });
  t.notOk(await overflows(page), 'provider on a phone');
});

t.test(
  'a question about the log of the page is answered as it is written, with a link to what it rests on',
  async (t) => {
    const { page, pages } = await visit(t, `${place}/apps/api/logs?level=error`);
    await pages.heading('api').waitFor();
    await page.keyboard.press('?');
    await pages.dialog().getByRole('row', { name: 'a Ask the assistant' }).waitFor();
    await page.keyboard.press('Escape');
    await pages.dialog().waitFor({ state: 'detached' });
    await page.keyboard.press('a');
    const panel = page.getByRole('complementary', { name: 'Assistant' });
    await panel.getByText('Your questions go to the model scripted').waitFor();
    await panel.getByText('log lines, output of builds').waitFor();
    t.equal(await page.evaluate('document.activeElement?.tagName'), 'TEXTAREA');
    await checkAccessibility(t, page, 'panel');
    const count = provider.requests.length;
    await panel.getByRole('button', { name: 'Explain this log' }).click();
    t.equal(provider.requests.length, count, 'nothing is sent before the user sends it');

    const { promise: released, resolve: release } = Promise.withResolvers<undefined>();
    provider.script = [
      calls(['show_logs', api]),
      (response) => {
        beginStream(response);
        writeEvent(response, textEvent('It **prints** one line.\n'));
        void (async () => {
          await released;
          writeEvent(response, textEvent('See `2026-11-26T10:00:00.5Z`.'));
          writeEvent(response, '[DONE]');
          response.end();
        })();
      },
    ];
    await panel.getByRole('button', { name: 'Send' }).click();
    const shown = answer(panel, 'Explain this log');
    await shown.getByText('It prints one line.').waitFor();
    await panel.getByRole('button', { name: 'Stop' }).waitFor();
    t.equal(await shown.getByText('See').count(), 0, 'the rest is not written yet');
    release(undefined);
    await shown.getByText('See').waitFor();
    await panel.getByRole('button', { name: 'Send' }).waitFor();
    const sent = provider.requests[count]?.body.messages.at(-1)?.content ?? '';
    t.match(sent, /"app":"api".*"logs":\{"level":"error","since":"1h"\}/);
    await shown.getByText('1 look at the platform').click();
    await shown.getByText('show_logs').waitFor();
    await checkAccessibility(t, page, 'answer');
    await shown.getByRole('link', { name: 'log line of api at 2026-11-26T10:00:00.5Z' }).click();
    t.match(page.url(), `${place}/apps/api/logs?at=`);
    await shown.getByText('See').waitFor();
  },
);

t.test('an answer can be stopped, and the connection to the provider ends', async (t) => {
  const { page, panel, send } = await ask(t, `${place}/apps/api`);
  const before = provider.cutOff();
  const shown = await send('what happens?', (response) => {
    beginStream(response);
    writeEvent(response, textEvent('A long story.\n'));
  });
  await shown.getByText('A long story.').waitFor();
  await panel.getByRole('button', { name: 'Stop' }).click();
  await shown.getByText('You stopped the answer.').waitFor();
  await eventually(
    async () => provider.cutOff(),
    (count) => count > before,
  );
  const [conversation] = await eventually(
    () => stored(page),
    ([newest]) => newest?.messages.at(-1)?.status === 'cancelled',
  );
  t.match(conversation?.messages, [{ question: 'what happens?', status: 'cancelled' }]);
});

t.test('a prepared change is shown as a difference, and only a click sends it', async (t) => {
  const [deployment] = await platform.json<{ id: string }[]>(['app', 'history', 'api', ...flags]);
  const { page, pages, panel, send } = await ask(t, `${place}/apps/api`);
  const shown = await send(
    'set the level and scale',
    calls(
      ['set_variables', { ...api, variables: { LEVEL: hostile } }],
      ['scale_app', { app: 'api', replicas: 2, ...inProd }],
      ['show_deployment', { id: deployment?.id }],
    ),
    says('Both are prepared.'),
  );
  await shown.getByText('Both are prepared.').waitFor();
  const variables = shown.getByRole('region', { name: 'Set variables of api' });
  await variables.getByText(`+ ${hostile}`).waitFor();
  await variables.getByText(`svc app env set api 'LEVEL=${hostile}'`).waitFor();
  const scale = shown.getByRole('region', { name: 'Scale api' });
  await scale.getByText('- 1').waitFor();
  await scale.getByText('+ 2').waitFor();
  await checkAccessibility(t, page, 'prepared changes');
  const env = async () =>
    (await platform.json<{ variables: object }>(['app', 'env', 'list', 'api', ...flags])).variables;
  t.same(await env(), {}, 'nothing is sent yet');
  await variables.getByRole('button', { name: 'Set variables of api' }).click();
  await variables.getByText('Sent.').waitFor();
  t.same(await env(), { LEVEL: hostile });
  t.equal(await variables.getByRole('button', { name: 'Set variables of api' }).count(), 0);
  t.match(await platform.json(['app', 'show', 'api', ...flags]), { replicas: 1 }, 'the other one was not sent');
  const back = await send(
    'go back to revision 1',
    calls(['roll_back_app', { app: 'api', revision: 1, withConfig: true, ...inProd }]),
    says('Prepared.'),
  );
  const rollback = back.getByRole('region', { name: 'Roll back api' });
  const level = rollback.getByRole('listitem').filter({ hasText: 'Variable LEVEL' });
  await level.getByText('comes back').waitFor();
  await level.getByText(`- ${hostile}`).waitFor();

  await shown.getByRole('link', { name: 'revision 1 of api' }).click();
  await pages.deployment(1).waitFor();
  t.match(page.url(), `${place}/apps/api/deployments?changes=1`);
  await panel.waitFor();
});

t.test('who may not change anything gets no button for it, also for what was prepared before', async (t) => {
  await platform.ok(['member', 'set', user.email, '--role', 'deployer', '--project', project]);
  const { page, pages, panel, send } = await ask(t, place, { user, width: 360 });
  await panel.getByText('Your questions go to').waitFor();
  t.notOk(await overflows(page), 'the panel fits');
  await checkAccessibility(t, page, 'panel on a phone');
  const restart = calls(['restart_workload', api]);
  const shown = await send('restart it', restart, says('Prepared.'));
  const button = shown.getByRole('button', { name: 'Restart api' });
  await button.waitFor();
  t.notOk(await overflows(page), 'a prepared change fits');
  await platform.ok(['member', 'set', user.email, '--role', 'viewer', '--project', project]);
  await shown.getByText('Your role in the project does not allow this.').waitFor();
  t.equal(await button.count(), 0);

  await panel.getByRole('button', { name: 'New conversation' }).click();
  const refused = await send('restart it again', restart, says('I may not.'));
  await refused.getByText('I may not.').waitFor();
  await refused.getByText('1 look at the platform').click();
  await refused.getByText('(refused)').waitFor();
  t.equal(await refused.getByRole('button').count(), 0);

  // The panel covers the page there, so a link closes it.
  const cited = await send('and the app?', calls(['show_workload', api]), says('It runs.'));
  await cited.getByRole('link', { name: 'app api' }).click();
  await panel.waitFor({ state: 'hidden' });
  await pages.heading('api').waitFor();
});

t.test('a hostile answer stays text', async (t) => {
  const { page, panel, send } = await ask(t, place);
  const text = `${hostile} ![a](https://evil.example/a.png) [click](https://evil.example/b) <script>alert(2)</script>\u202Eevil\u0007`;
  const shown = await send('hostile?', says(`${text}\n\n`, `\`\`\`html\n${hostile}\n\`\`\`\n`, 'The end.'));
  await shown.getByText('The end.').waitFor();
  await shown.getByText('alert(2)').waitFor();
  await shown.getByRole('code').getByText(hostile).waitFor();
  t.equal(await panel.getByRole('img').count(), 0);
  t.equal(await shown.getByRole('link').count(), 0);
  t.notMatch(await shown.innerText(), /evil\.example|[^\P{Cc}\n]|\p{Cf}/u);
  const html = await page.content();
  t.notMatch(html, '<img src');
  t.notMatch(html, '<script>alert');
});

t.test('files are text within the limits; what is refused can be corrected', async (t) => {
  const { panel, field, send } = await ask(t, place);
  const input = panel.locator('input[type="file"]');
  const file = (name: string, content: string | Buffer) => ({
    name,
    mimeType: 'text/plain',
    buffer: Buffer.from(content),
  });
  const count = provider.requests.length;
  await input.setInputFiles(file('large.txt', 'x'.repeat(256 * 1024 + 1)));
  await panel.getByRole('alert').getByText('file_too_large').waitFor();
  await input.setInputFiles([file('paper.txt', '%PDF-1.7\n\u0000\u0001'), file('config.yaml', 'port: 80\n')]);
  await panel.getByText('paper.txt (').waitFor();
  await field.fill('what is wrong?');
  await panel.getByRole('button', { name: 'Send' }).click();
  await panel.getByRole('alert').getByText('file_not_text').waitFor();
  t.equal(provider.requests.length, count, 'nothing was sent to the provider');
  t.equal(await field.inputValue(), 'what is wrong?', 'the question is kept');
  await panel.getByRole('button', { name: 'Remove paper.txt' }).click();
  const shown = await send('what is wrong?', says('The port.'));
  await shown.getByText('The port.').waitFor();
  await shown.getByText('config.yaml (9 B)').waitFor();
  t.match(provider.requests.at(-1)?.body.messages.at(-1)?.content, /config\.yaml[^]*port: 80/);
});

t.test('a function of an answer opens the form filled in', async (t) => {
  const { page, pages, panel, field, send } = await ask(t, place);
  await panel.getByRole('button', { name: 'Write a function that …' }).click();
  t.equal(await field.inputValue(), 'Write a function that ');
  const code = 'export const handler = () => ({ body: "from the assistant" });';
  const shown = await send(
    'Write a function that greets at night',
    says(`\`\`\`js\n${code}\n\`\`\`\nAt \`0 3 * * *\`.`),
  );
  await shown.getByRole('button', { name: 'Open the form of a new function' }).click();
  await pages.heading('Create a function').waitFor();
  await page.getByText('from the assistant').last().waitFor();
  t.equal(await page.getByLabel('Cron expression with five fields').inputValue(), '0 3 * * *');
  await page.getByLabel('Name', { exact: true }).fill('greet');
  await pages.button('Create a function').click();
  await pages.heading('greet').waitFor();
  const view = await platform.json<object>(['function', 'show', 'greet', ...flags]);
  t.match(view, { runtime: 'node', trigger: 'cron', schedule: '0 3 * * *' });
});

t.test('a prepared function opens its form filled in, and only the form sends it', async (t) => {
  const { page, pages, send } = await ask(t, place);
  const code = (text: string) => `export const handler = () => ({ body: "${text}" });\n`;
  const counter = { function: 'counter', ...inProd };
  const settings = { runtime: 'node', trigger: 'cron', schedule: '15 4 * * *', variables: { LEVEL: hostile } };
  const created = await send(
    'Write a function that counts',
    calls(['create_function', { ...counter, ...settings, code: code('first') }]),
    says(`It is prepared:\n\`\`\`js\n${code('first')}\`\`\``),
  );
  const card = created.getByRole('region', { name: 'Create the function counter' });
  await card.getByText('+ 15 4 * * *').waitFor();
  await card.getByText(`+ LEVEL='${hostile}'`).waitFor();
  await card.getByText('With the command line').click();
  await card.getByText('svc function create counter --runtime node --code-file - --trigger cron').waitFor();
  await checkAccessibility(t, page, 'a prepared function');
  t.equal(await created.getByRole('button', { name: 'Open the form of a new function' }).count(), 0);
  await card.getByRole('button', { name: 'Open the form of counter' }).click();
  await pages.heading('Create a function').waitFor();
  t.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'counter');
  t.equal(await page.getByLabel('Cron expression with five fields').inputValue(), '15 4 * * *');
  const show = ['function', 'show', 'counter', ...flags];
  t.not((await platform.svc(show)).code, 0, 'nothing is sent yet');
  await pages.button('Create a function').click();
  await pages.heading('counter').waitFor();
  const digest = (text: string) => hash('sha256', code(text));
  const { runtime, schedule } = settings;
  t.match(await platform.json(show), { runtime, schedule, env: { LEVEL: hostile }, codeDigest: digest('first') });

  const changed = await send(
    'count by two',
    calls(['update_function_code', { ...counter, code: code('second') }]),
    says('Changed.'),
  );
  const change = changed.getByRole('region', { name: 'Change the code of counter' });
  await change.getByText('- the current code').waitFor();
  await change.getByText('+ export const handler').waitFor();
  await change.getByRole('button', { name: 'Open the form of counter' }).click();
  await pages.button('Review changes').click();
  await pages.dialog().getByText('+ export const handler').waitFor();
  t.match(await platform.json(show), { codeDigest: digest('first') });
  await pages.dialog().getByRole('button', { name: 'Save 1 change' }).click();
  await pages.dialog().waitFor({ state: 'detached' });
  t.match(await platform.json(show), { codeDigest: digest('second') });
});

t.test('a half-written question is there again after the list of conversations', async (t) => {
  const { panel, field } = await ask(t, place);
  await field.fill('half a question');
  await panel
    .locator('input[type="file"]')
    .setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('a note') });
  await panel.getByText('notes.txt (6 B)').waitFor();
  await panel.getByRole('button', { name: 'Conversations' }).click();
  await panel.getByText('Each is deleted 30 days after its last message.').waitFor();
  await panel.getByRole('button', { name: 'Back to the conversation' }).click();
  t.equal(await field.inputValue(), 'half a question');
  await panel.getByText('notes.txt (6 B)').waitFor();
});

t.test('what the API itself would send is text in the panel, and nothing is sent without a click', async (t) => {
  const { page, panel, send } = await ask(t, `${place}/apps/api`);
  const text = `${hostile} ![a](https://evil.example/a.png) [b](javascript:alert(1)) <a href="//evil.example">c</a>\n`;
  const link = '[Open app api](https://console.evil.example/projects/shop)';
  const root = `/api/v1/projects/${project}`;
  const prepare = (method: string, path: string, body?: object) => ({
    type: 'prepared',
    method,
    path,
    command: `svc ${hostile}`,
    ...(body && { body }),
  });
  const events = [
    { type: 'text', text: `${text}# ${text}- ${text}| ${text}${link}\n` },
    { type: 'text', text: `\`\`\`html\n${`${text.trim()} `.repeat(20)}\n${'x'.repeat(300_000)}\n\`\`\`\n` },
    { type: 'source', kind: 'app', name: 'javascript:alert(1)', project, ...inProd },
    { type: 'source', kind: 'logs', of: 'app', name: '//evil.example', project, ...inProd },
    prepare('PATCH', '/api/v1/projects/another/apps/api', { replicas: 0 }),
    prepare('DELETE', `${root}/apps/api`),
    prepare('POST', `https://evil.example${root}/apps/api/restart`),
    prepare('POST', `${root}/functions`, {
      name: 'f',
      runtime: 'node',
      code: 'x',
      trigger: 'http',
      secrets: { A: 'b' },
    }),
    prepare('PATCH', `${root}/apps/api?environment=prod`, { replicas: 1 }),
    { type: 'text', text: 'The end.' },
    {
      type: 'done',
      message: '019a0000-0000-7000-8000-000000000001',
      usage: { inputTokens: 1, outputTokens: 1 },
      cut: true,
    },
  ];
  const requests: string[] = [];
  page.on('request', (request) => requests.push(`${request.method()} ${request.url()}`));
  await page.route(/\/messages$/, (route) =>
    route.fulfill({
      contentType: 'application/x-ndjson',
      body: events.map((each) => `${JSON.stringify(each)}\n`).join(''),
    }),
  );
  const shown = await send('hostile?');
  await shown.getByText('The end.').waitFor();
  await shown.getByText('The answer was too long, and was cut.').waitFor();
  t.equal((await shown.getByText(hostile).count()) > 0, true);
  const unknown = shown.getByRole('region', { name: 'Prepared, not sent' });
  t.equal(await unknown.count(), 4);
  t.equal(await unknown.getByRole('button').count(), 4, 'only the buttons that copy');
  const links = await shown
    .getByRole('link')
    .evaluateAll((all) => all.map((each) => (each as unknown as { pathname: string }).pathname));
  t.equal(links.length, 2);
  for (const address of links) t.ok(address.startsWith(`${place}/apps/`), address);
  t.equal(await panel.locator('img, script, iframe, svg, object, embed, form[action]').count(), 0);
  const others = () => requests.filter((each) => !each.startsWith('GET '));
  const own = requests.every((each) => new URL(each.split(' ')[1] ?? '').origin === new URL(page.url()).origin);
  t.ok(own, 'no request leaves the console');
  t.match(others(), [/^POST .*\/conversations$/, /^POST .*\/messages$/]);
  await shown.getByRole('button', { name: 'Scale api' }).click();
  await shown.getByText('Sent.').waitFor();
  t.match(others().slice(2), [new RegExp(`^PATCH [^?]*${root}/apps/api\\?environment=prod$`)]);
});

t.test('an endless answer is cut', async (t) => {
  const { send } = await ask(t, place);
  const shown = await send('go on', (response) => {
    beginStream(response);
    const pour = () => {
      while (!response.destroyed && writeEvent(response, textEvent('word '.repeat(200))));
      if (!response.destroyed) response.once('drain', pour);
    };
    pour();
  });
  await shown.getByText('The answer was too long, and was cut.').waitFor();
});

t.test('conversations are listed, opened again, and deleted', async (t) => {
  const { page, panel, pages } = await ask(t, place);
  const before = await stored(page);
  t.ok(before.length >= 5);
  await panel.getByRole('button', { name: 'Conversations' }).click();
  await panel.getByText('Each is deleted 30 days after its last message.').waitFor();
  await checkAccessibility(t, page, 'conversations');
  await panel.getByRole('button', { name: 'Open "set the level and scale"' }).click();
  const shown = answer(panel, 'set the level and scale');
  await shown.getByText('Both are prepared.').waitFor();
  await shown.getByRole('region', { name: 'Set variables of api' }).getByText('Nothing would change.').waitFor();
  provider.script = [says('Yes.')];
  await panel.getByLabel('Question', { exact: true }).fill('done?');
  await page.keyboard.press('Enter');
  await answer(panel, 'done?').getByText('Yes.').waitFor();

  await panel.getByRole('button', { name: 'Conversations' }).click();
  await panel.getByRole('button', { name: 'Delete "set the level and scale"' }).click();
  await pages
    .dialog()
    .getByText(/^svc conversation delete [0-9a-f-]{36} --project /)
    .waitFor();
  await pages.dialog().getByRole('button', { name: 'Delete', exact: true }).click();
  await panel.getByRole('button', { name: 'Open "set the level and scale"' }).waitFor({ state: 'detached' });
  const after = await stored(page);
  t.equal(after.length, before.length - 1);
  t.notOk(after.some(({ messages }) => messages.some(({ question }) => question === 'done?')));
});

t.test('an admin disables the assistant', async (t) => {
  const { page, pages } = await visit(t, '/platform/assistant');
  await pages.button('Disable').click();
  await pages.dialog().getByRole('button', { name: 'Disable' }).click();
  await page.getByText('The assistant has no AI provider.', { exact: true }).waitFor();
  const { code } = await platform.svc(['platform', 'assistant', 'show']);
  t.not(code, 0);
});

t.test('no page of these tests had an error, or did what its policy forbids', (t) => {
  t.same(browser.faults, []);
  t.end();
});
