import t from 'tap';
import { blocksOf } from '../../../functions/console/ui/assistant/answer-text.ts';
import { newExchange, storedExchange, withEvent } from '../../../functions/console/ui/assistant/exchange.ts';
import { base64Of, checkSizes } from '../../../functions/console/ui/assistant/files.ts';
import { offerIn } from '../../../functions/console/ui/assistant/offer.ts';
import { deploymentOf, pageOf, pageText, suggestionsOf } from '../../../functions/console/ui/assistant/page.ts';
import { keepOffer, offerOf, offerSearch } from '../../../functions/console/ui/functions/offered.ts';
import { pathOfSource, sourcesOf } from '../../../functions/console/ui/assistant/source-path.ts';
import { places, type FindPath } from '../../../functions/console/ui/shell/places.ts';
import { cleanAnswer } from '../../../runtime/assistant/clean-answer.ts';
import { readAttachments } from '../../../runtime/assistant/attachments.ts';
import { assistantQuestion } from '../../../runtime/contracts/api/assistant.ts';
import { assistantLimits } from '../../../runtime/domain/assistant.ts';

const find: FindPath = (name, params = {}) => {
  const parts = places[name].split('/').map((part) => (part.startsWith('$') ? params[part.slice(1)] : part));
  return parts.includes(undefined) ? undefined : parts.join('/');
};
const prod = '/projects/shop/environments/prod';

t.test('an answer is blocks of text, also while it is written', (t) => {
  const text =
    '# Why\nThe pod **crashes**:\nno `PORT`.\n\n- one\n- two\n  more\n\n1. first\n2) second\n\n```js\na();\n\nb();\n```\nEnd';
  const span = (kind: string, part: string) => ({ kind, text: part });
  t.same(blocksOf(text), [
    { kind: 'heading', lines: [[span('text', 'Why')]] },
    {
      kind: 'paragraph',
      lines: [
        [span('text', 'The pod '), span('strong', 'crashes'), span('text', ':')],
        [span('text', 'no '), span('code', 'PORT'), span('text', '.')],
      ],
    },
    {
      kind: 'list',
      ordered: false,
      start: 1,
      items: [[[span('text', 'one')]], [[span('text', 'two')], [span('text', 'more')]]],
    },
    { kind: 'list', ordered: true, start: 1, items: [[[span('text', 'first')]], [[span('text', 'second')]]] },
    { kind: 'code', language: 'js', text: 'a();\n\nb();' },
    { kind: 'paragraph', lines: [[span('text', 'End')]] },
  ]);
  t.match(blocksOf('```python\nx = 1'), [{ kind: 'code', language: 'python', text: 'x = 1' }], 'without its end');
  t.match(blocksOf('a ** b ` c'), [{ kind: 'paragraph', lines: [[{ text: 'a ' }, { text: '** b ` c' }]] }]);
  t.match(blocksOf('| a | b |\n|--|--|'), [{ kind: 'table', lines: [[{ text: '| a | b |' }], [{ text: '|--|--|' }]] }]);
  t.same(blocksOf(''), []);
  t.end();
});

t.test('everything of a hostile answer is text', (t) => {
  const hostile =
    '<img src=x onerror=alert(1)> ![a](https://evil.example/?q=1) [b](javascript:alert(1))\n<script>x</script>';
  for (const answer of [hostile, cleanAnswer(hostile)]) {
    const blocks = blocksOf(answer);
    const shown = blocks.flatMap((block) =>
      'lines' in block ? block.lines.map((line) => line.map((span) => span.text).join('')) : [],
    );
    t.equal(shown.join('\n'), answer, 'nothing is lost, and nothing is read as something else');
  }
  const long = `${'`'.repeat(20_000)}\n${'**'.repeat(20_000)}\n${'- '.repeat(20_000)}`;
  t.ok(blocksOf(long).length > 0, 'and long texts end at once');
  t.end();
});

t.test('an exchange follows the lines of its answer', (t) => {
  const prepared = { method: 'POST', path: '/x', command: 'svc x' };
  let exchange = newExchange('new 1', 'why?', [{ name: 'a.txt', bytes: 3 }]);
  exchange = withEvent(exchange, { type: 'tool', tool: 'show_logs', names: { app: 'api' }, refused: false });
  exchange = withEvent(exchange, { type: 'text', text: 'be' });
  exchange = withEvent(exchange, { type: 'source', kind: 'app', name: 'api', project: 'shop' });
  exchange = withEvent(exchange, { type: 'prepared', ...prepared });
  exchange = withEvent(exchange, { type: 'text', text: 'cause' });
  t.match(exchange, { status: 'answering', answer: 'because', tools: [{ tool: 'show_logs' }], prepared: [prepared] });
  t.same(withEvent(exchange, { type: 'news' } as never), exchange, 'a line of a newer platform');
  t.match(withEvent(exchange, { type: 'error', code: 'provider_busy', error: 'Busy.' }), {
    status: 'failed',
    error: { code: 'provider_busy', error: 'Busy.' },
  });
  const usage = { inputTokens: 1, outputTokens: 1 };
  const message = '019a0000-0000-7000-8000-000000000001';
  t.match(withEvent(exchange, { type: 'done', message, usage, cut: true }), { status: 'answered', cut: true });
  const { key: _, ...stored } = exchange;
  const { sources, error: _error, ...rest } = stored;
  t.match(storedExchange({ ...rest, id: message, sources: [...sources], createdAt: '' }), { key: message });
  t.end();
});

t.test('a message names the page: its objects, the deployment that it shows, and the selection of its log', (t) => {
  const params = { environment: 'prod', app: 'api' };
  const history = [
    { id: 'd3', revision: 3, status: 'failed' },
    { id: 'd2', revision: 2, status: 'succeeded' },
  ];
  const deployments = { pathname: `${prod}/apps/api/deployments`, params, search: { changes: 2 } };
  t.equal(deploymentOf(deployments, history)?.id, 'd2', 'the one that is open');
  t.equal(deploymentOf({ ...deployments, search: {} }, history)?.id, 'd3', 'else the newest');
  t.equal(deploymentOf({ ...deployments, search: { build: 'd2' } }, history)?.id, 'd2');
  t.equal(deploymentOf({ ...deployments, params: { environment: 'prod' } }, history), undefined);
  const page = pageOf(deployments, { id: 'd2' });
  t.same(page, { environment: 'prod', app: 'api', deployment: 'd2' });
  t.equal(pageText(page), 'environment prod, app api, deployment d2');

  const search = { level: 'error', q: 'x'.repeat(300), pod: 'p'.repeat(200), since: '24h' };
  const log = pageOf({ pathname: `${prod}/apps/api/logs`, params, search });
  t.same(log.logs, { since: '24h', level: 'error', search: 'x'.repeat(200) }, 'within the limits of a message');
  const line = pageOf({ pathname: `${prod}/apps/api/logs`, params, search: { at: '2026-11-26T10:00:00.5Z' } });
  t.same(line.logs, { since: '2026-11-26T09:59:00.500Z', until: '2026-11-26T10:01:00.500Z' });
  for (const each of [page, log, line]) t.ok(assistantQuestion.safeParse({ text: 'why?', page: each }).success);
  t.equal(pageText(log).includes('log (24h, error'), true);
  t.end();
});

t.test('questions fit the page, and what the provider may get', (t) => {
  const of = (
    pathname: string,
    params: object,
    level: 'names' | 'state' | 'logs',
    search = {},
    deployment?: { status: string },
  ) => suggestionsOf({ pathname, params, search }, level, deployment).map(({ label }) => label);
  const app = { environment: 'prod', app: 'api' };
  const failed = { status: 'failed' };
  t.equal(of(`${prod}/apps/api/deployments`, app, 'state', { changes: 2 }, failed)[0], 'Why did this deployment fail?');
  t.equal(of(`${prod}/apps/api`, app, 'state', {}, failed)[0], 'Why did the last deployment fail?');
  t.notMatch(of(`${prod}/apps/api`, app, 'state', {}, { status: 'succeeded' }).join(), 'fail?');
  t.ok(of(`${prod}/apps/api/logs`, app, 'logs').includes('Explain this log'));
  t.notOk(of(`${prod}/apps/api/logs`, app, 'state').includes('Explain this log'), 'logs are not sent');
  t.same(of(`${prod}/apps/api/logs`, app, 'names'), [], 'nothing that could be answered');
  t.equal(of(`${prod}/keys`, { environment: 'prod' }, 'state')[0], 'Which key used up its quota?');
  t.equal(
    of(`${prod}/keys/abcd`, { environment: 'prod', key: 'abcd' }, 'state')[0],
    'Has the key abcd used up its quota?',
  );
  const write = suggestionsOf(
    { pathname: `${prod}/new-function`, params: { environment: 'prod' }, search: {} },
    'names',
  );
  t.same(
    write.filter(({ text }) => text.endsWith(' ')),
    [
      { label: 'Write a function that …', text: 'Write a function that ' },
      { label: 'Make a cron for …', text: 'Make a cron for ' },
    ],
  );
  t.end();
});

t.test('what an answer rests on leads to pages of the console only', (t) => {
  const place = { project: 'shop', environment: 'prod' };
  const path = (source: object, environments = ['prod', 'staging']) =>
    pathOfSource(find, { ...place, ...source } as Parameters<typeof pathOfSource>[1], environments);
  t.same(path({ kind: 'app', name: 'api' }), { path: `${prod}/apps/api` });
  t.same(path({ kind: 'service', name: 'db' }), { path: `${prod}/services/db` });
  t.same(path({ kind: 'key', name: 'abcd' }), { path: `${prod}/keys/abcd` });
  t.same(path({ kind: 'project', name: 'shop' }), { path: '/projects/shop' });
  t.same(path({ kind: 'events', name: 'resize', of: 'function' }), { path: `${prod}/functions/resize/events` });
  t.same(path({ kind: 'logs', name: 'api', of: 'app' }), { path: `${prod}/apps/api/logs` });
  t.same(path({ kind: 'logs', name: 'sync', of: 'job' }), { path: `${prod}/jobs/sync/runs` });
  t.equal(path({ kind: 'logs', name: 'x', of: 'constructor' }), undefined);
  t.equal(path({ kind: 'app', name: 'api', environment: undefined }), undefined, 'one of two environments');
  t.same(path({ kind: 'app', name: 'api', environment: undefined }, ['prod']), { path: `${prod}/apps/api` });
  const time = '2026-11-26T10:00:00.123456789Z';
  t.same(path({ kind: 'logs', name: 'api', of: 'app', time, pod: 'api-1' }), {
    path: `${prod}/apps/api/logs`,
    search: { at: time, pod: 'api-1' },
  });
  t.end();
});

t.test('an answer that rests on one log names its lines by their times', (t) => {
  const log = { kind: 'logs' as const, name: 'api', of: 'app', project: 'shop', environment: 'prod' };
  const answer = 'At 2026-11-26T10:00:00.123Z, and again at `2026-11-26T10:00:00.123Z`, not 1999-01-01T00:00:00Z.';
  t.same(sourcesOf({ answer, sources: [log, log] }), [log, { ...log, time: '2026-11-26T10:00:00.123Z' }]);
  t.same(sourcesOf({ answer, sources: [log, { ...log, name: 'web' }] }), [log, { ...log, name: 'web' }]);
  const line = { ...log, time: '2026-11-26T10:00:01Z' };
  t.same(sourcesOf({ answer, sources: [line] }), [line], 'the API knows the lines');
  t.end();
});

t.test('code with a handler and schedules fit the form of a function', (t) => {
  const code = 'exports.handler = async () => ({ statusCode: 200 });';
  t.same(offerIn(blocksOf(`Use this:\n\n\`\`\`js\n${code}\n\`\`\`\nevery night at \`0 2 * * 1-5\`.`)), {
    runtime: 'node',
    code: `${code}\n`,
    trigger: 'cron',
    schedule: '0 2 * * 1-5',
  });
  t.same(offerIn(blocksOf('```python\ndef handler(event):\n  pass\n```')), {
    runtime: 'python',
    code: 'def handler(event):\n  pass\n',
  });
  t.same(offerIn(blocksOf('- `*/5 * * * *`')), { trigger: 'cron', schedule: '*/5 * * * *' });
  t.equal(offerIn(blocksOf('```js\nconsole.log(1)\n```\n`git add a b c` `1 2 3 4 five-and-more words`')), undefined);
  t.end();
});

t.test('values for a form stay in memory, and are found by the number in the address', (t) => {
  const first = keepOffer({ code: 'a' });
  t.same(offerOf(first), { code: 'a' });
  t.same(offerSearch({ offer: first }), { offer: first });
  t.same(offerSearch({ offer: 'x' }), {});
  t.same(offerOf(undefined), {});
  for (let count = 0; count < 10; count++) keepOffer({ code: 'b' });
  t.same(offerOf(first), {}, 'older ones are forgotten');
  t.end();
});

t.test('files are refused as the API refuses them', (t) => {
  const { fileBytes, messageBytes, files } = assistantLimits;
  const codeOf = (run: () => unknown) => {
    try {
      run();
      return undefined;
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  const bytes = new Uint8Array(fileBytes + 1).fill(65);
  for (const sizes of [[fileBytes], [fileBytes + 1], Array.from({ length: 5 }, () => messageBytes / 5 + 1)]) {
    const sent = sizes.map((size) => ({ name: 'a', content: base64Of(bytes.subarray(0, size)) }));
    const listed = sizes.map((size) => ({ name: 'a', bytes: Math.ceil(size) }));
    t.equal(
      codeOf(() => checkSizes(listed)),
      codeOf(() => readAttachments('', sent)),
      sizes.join(),
    );
  }
  const many = Array.from({ length: files + 1 }, () => ({ name: 'a', bytes: 1 }));
  t.equal(
    codeOf(() => checkSizes(many)),
    'invalid_request',
  );
  t.equal(Buffer.from(base64Of(bytes), 'base64').length, bytes.length);
  t.equal(base64Of(new Uint8Array()), '');
  t.end();
});
