import t from 'tap';
import { Problem } from '../../../runtime/domain/problem.ts';
import { countAssistantTokens } from '../../../runtime/records/assistant.ts';
import { eventually } from '../../support/platform.ts';
import { signedIn } from '../../support/people.ts';
import { beginStream, calls, says, textEvent, writeEvent } from '../../support/scripted-provider.ts';
import { dataOf, type Handlers } from '../../support/tools.ts';
import { assistantRig, password } from './rig.ts';

const deployment = '019a0000-0000-7000-8000-000000000007';
const handlers: Handlers = {
  'GET /projects/:project/deployments/:id': async () => ({
    status: 200,
    body: { id: deployment, app: 'api', status: 'failed', reason: `exit code 1, password ${password}` },
  }),
  'GET /projects/:project/apps/:app/logs': async () => ({
    status: 200,
    body: { items: [{ pod: 'api-1', time: '2026-01-01T00:00:00Z', line: 'PORT is not set' }] },
  }),
};

t.test('a question is answered with tools, sources and a prepared command, and is stored sealed', async (t) => {
  const { ask, provider, audits, pool, api, root, dana, recorded } = await assistantRig(t, {
    handlers,
    script: [
      calls(['show_deployment', { id: deployment }], ['show_logs', { kind: 'app', name: 'api', environment: 'prod' }]),
      calls(['set_variables', { kind: 'app', name: 'api', environment: 'prod', variables: { PORT: '8080' } }]),
      says('It failed at 2026-01-01T00:00:00Z:\n`PORT` is', ' not set.'),
    ],
  });
  const { events, text, conversation } = await ask({
    text: 'Why did it fail?',
    page: { app: 'api', environment: 'prod', deployment },
    files: [{ name: 'a.yaml', content: Buffer.from('port: 1\n').toString('base64') }],
  });
  t.equal(text, 'It failed at 2026-01-01T00:00:00Z:\n`PORT` is not set.');
  t.match(
    events.filter(({ type }) => type !== 'text'),
    [
      { type: 'tool', tool: 'show_deployment', names: { project: 'shop', id: deployment }, refused: false },
      { type: 'source', kind: 'deployment', name: deployment, project: 'shop' },
      { type: 'tool', tool: 'show_logs', names: { project: 'shop', app: 'api', environment: 'prod' } },
      { type: 'source', kind: 'logs', name: 'api', of: 'app', environment: 'prod' },
      { type: 'tool', tool: 'set_variables' },
      {
        type: 'prepared',
        method: 'PATCH',
        path: '/api/v1/projects/shop/apps/api/env?environment=prod',
        body: { PORT: '8080' },
        command: 'svc app env set api PORT=8080 --project shop --environment prod',
      },
      {
        type: 'source',
        kind: 'logs',
        name: 'api',
        time: '2026-01-01T00:00:00Z',
        pod: 'api-1',
        command: 'svc app logs api --at 2026-01-01T00:00:00Z --project shop --environment prod',
      },
      { type: 'done', usage: { inputTokens: 300, outputTokens: 60 }, cut: false },
    ],
  );
  const [first, second] = provider.requests;
  t.match(first, { headers: { authorization: 'Bearer provider-key' }, body: { model: 'm', tool_choice: 'auto' } });
  const question = first?.body.messages.at(-1)?.content ?? '';
  t.match(question, /^Why did it fail\?/);
  t.match(question, /"app":"api"/);
  t.match(question, /name: "a\.yaml"\n\nport: 1/);
  const results = second?.body.messages.filter(({ role }) => role === 'tool') ?? [];
  t.same(
    results.map(({ tool_call_id: call }) => call),
    ['call_0', 'call_1'],
  );
  t.match(dataOf(results[0]?.content ?? ''), { reason: 'exit code 1, password [redacted]' });
  t.notMatch(provider.received(), password);
  t.match(
    audits.map(({ action, actor, tool, conversation: id, sent }) => ({ action, actor, tool, conversation: id, sent })),
    [
      { action: 'tool.call', actor: 'dana@svc.local', tool: 'show_deployment', conversation },
      { tool: 'show_logs', conversation },
      { tool: 'set_variables', sent: false },
    ],
  );

  const shown = await api.call('GET', `${root}/${conversation}`, { headers: dana.headers });
  t.match(shown.body, {
    title: 'Why did it fail?',
    messages: [
      {
        question: 'Why did it fail?',
        files: [{ name: 'a.yaml', bytes: 8 }],
        status: 'answered',
        answer: text,
        tools: [{ tool: 'show_deployment' }, { tool: 'show_logs' }, { tool: 'set_variables' }],
        prepared: [{ method: 'PATCH' }],
        sources: [{ kind: 'deployment' }, { kind: 'logs' }, { kind: 'logs', time: '2026-01-01T00:00:00Z' }],
      },
    ],
  });
  const { rows } = await pool.query(
    'SELECT m::text AS m, c::text AS c FROM assistant_messages m JOIN assistant_conversations c ON c.id = conversation_id',
  );
  t.notMatch(JSON.stringify(rows), /fail|PORT|yaml|api/);
  t.notMatch(recorded.text(), /Why did it fail|PORT|provider-key/, 'nothing of it is logged');
});

t.test('earlier messages are sent again, without files', async (t) => {
  const { ask, provider } = await assistantRig(t, { script: [says('one'), says('two')] });
  const files = [{ name: 'a.txt', content: Buffer.from('content of the file').toString('base64') }];
  const { conversation } = await ask({ text: `first with ${password}`, files });
  await ask({ text: 'second' }, { id: conversation });
  const messages = provider.requests[1]?.body.messages ?? [];
  t.match(
    messages.map(({ role }) => role),
    ['system', 'user', 'assistant', 'user'],
  );
  t.match(messages[1]?.content, /^first with \[redacted\]\n\n\(1 files were attached/);
  t.equal(messages[2]?.content, 'one');
  t.notMatch(JSON.stringify(messages), /content of the file/);
  t.notMatch(provider.received(), password, 'also the first time');
});

t.test('without a provider: 409 with the command that sets one', async (t) => {
  const { ask, api, dana, pool } = await assistantRig(t, { configured: false });
  t.match(await ask({ text: '?' }), {
    status: 409,
    code: 'assistant_not_configured',
    body: { message: /svc platform assistant set/ },
  });
  t.match((await api.call('GET', '/api/v1/assistant', { headers: dana.headers })).body, {
    available: false,
    sends: [],
  });
  t.same((await pool.query('SELECT 1 FROM assistant_messages')).rows, []);
});

t.test('a user sees what is sent, and no host of a private network', async (t) => {
  const { api, dana, pool } = await assistantRig(t, { level: 'state' });
  const show = async () => (await api.call('GET', '/api/v1/assistant', { headers: dana.headers })).body;
  t.match(await show(), { available: true, model: 'm', level: 'state', sends: [/questions/, /^names/, /^status/] });
  t.notHas(await show(), 'host');
  await pool.query(`UPDATE assistant_provider SET networks = '{}', url = 'https://api.openai.com/v1', key = NULL`);
  t.match(await show(), { host: 'api.openai.com', limits: { fileBytes: 262_144, messageBytes: 1_048_576 } });
});

t.test('files are checked before anything is sent or stored', async (t) => {
  const { ask, provider, pool } = await assistantRig(t);
  const file = (content: string | Buffer, name = 'a.txt') => ({
    name,
    content: Buffer.from(content).toString('base64'),
  });
  const max = 256 * 1024;
  const cases: [object[], number, string][] = [
    [[file('x'.repeat(max + 1))], 413, 'file_too_large'],
    [[1, 2, 3, 4].map(() => file('x'.repeat(max))), 413, 'message_too_large'],
    [[file('%PDF-1.4\n')], 415, 'file_not_text'],
    [[file(Buffer.from('hello', 'utf16le'))], 415, 'file_not_text'],
    [[file('a\0b')], 415, 'file_not_text'],
    [[{ name: 'a', content: 'no base64' }], 400, 'invalid_request'],
    [Array.from({ length: 21 }, () => file('a')), 400, 'invalid_request'],
    [[file('x'.repeat(max * 5))], 413, 'body_too_large'],
  ];
  for (const [files, status, code] of cases) t.match(await ask({ text: '?', files }), { status, code });
  t.equal((await ask({ text: '' })).status, 400);
  t.equal((await ask({ text: 'x'.repeat(8_001) })).status, 400);
  t.equal((await ask({ text: '?', page: { host: 'x' } })).status, 400);
  t.same(provider.requests, []);
  t.same((await pool.query('SELECT 1 FROM assistant_messages')).rows, []);
  t.same((await pool.query('SELECT 1 FROM assistant_usage')).rows, [], 'and not counted');
  const files = [...[1, 2, 3].map(() => file('x'.repeat(max))), file('x'.repeat(max - 1))];
  t.equal((await ask({ text: '?', files })).code, 'done', 'exactly 1 MB');
});

t.test('messages of an hour and tokens of a day are limited', async (t) => {
  const { ask, pool, dana, vera } = await assistantRig(t, { messagesPerHour: 2, tokensPerDay: 1_000 });
  t.equal((await ask({ text: '1' })).code, 'done');
  t.equal((await ask({ text: '2' })).code, 'done');
  t.match(await ask({ text: '3' }), {
    status: 429,
    code: 'assistant_limit_reached',
    body: { details: { retryAfterSeconds: Number } },
  });
  t.equal((await ask({ text: '1' }, { person: vera })).code, 'done', 'of each user');
  await pool.query('UPDATE assistant_usage SET messages = 0');
  await countAssistantTokens(pool, dana.id, new Date(), 260);
  t.match(await ask({ text: '4' }), { status: 429, code: 'assistant_budget_used' }, 'half of the day');
  t.equal((await ask({ text: '2' }, { person: vera })).code, 'done');
  const others = await signedIn(pool, 'others');
  await countAssistantTokens(pool, others.id, new Date(), 400);
  t.match(await ask({ text: '3' }, { person: vera }), { status: 429, code: 'assistant_budget_used' }, 'all of the day');
});

t.test('the budget ends an answer between two requests', async (t) => {
  const { ask, provider } = await assistantRig(t, {
    tokensPerDay: 200,
    script: [calls(['show_schedule', { schedule: '0 * * * *' }]), says('never')],
  });
  t.equal((await ask({ text: '?' })).code, 'assistant_budget_used');
  t.equal(provider.requests.length, 1);
});

t.test('at most six requests, the last one without calls of tools', async (t) => {
  const { ask, provider } = await assistantRig(t, { script: [calls(['list_projects', {}])] });
  const { code, events } = await ask({ text: '?' });
  t.equal(code, 'done');
  t.same(
    provider.requests.map(({ body }) => body.tool_choice),
    ['auto', 'auto', 'auto', 'auto', 'auto', 'none'],
  );
  t.equal(events.filter(({ type }) => type === 'tool').length, 5);
});

t.test('disconnecting ends the request to the provider, and the message says so', async (t) => {
  const { begin, api, root, dana, provider, pool } = await assistantRig(t, {
    script: [
      (response) => {
        beginStream(response);
        writeEvent(response, textEvent('first line\n'));
      },
    ],
  });
  const id = await begin();
  const client = new AbortController();
  const response = await fetch(`${api.url}${root}/${id}/messages`, {
    method: 'POST',
    headers: { ...dana.headers, 'content-type': 'application/json' },
    body: JSON.stringify({ text: '?' }),
    signal: client.signal,
  });
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.includes('first line')) break;
  }
  client.abort();
  await eventually(
    async () => provider.cutOff(),
    (count) => count === 1,
  );
  const { body } = await eventually(
    () => api.call('GET', `${root}/${id}`, { headers: dana.headers }),
    (answer) => answer.body.messages[0]?.status === 'cancelled',
  );
  t.match(body.messages, [{ answer: 'first line\n' }]);
  const { rows } = await eventually(
    () => pool.query<{ tokens: string }>('SELECT tokens FROM assistant_usage'),
    (result) => Number(result.rows[0]?.tokens) > 0,
  );
  t.ok(Number(rows[0]?.tokens) > 100, 'the tokens are estimated');
});

t.test('conversations belong to one user in one project', async (t) => {
  const { api, root, dana, vera, begin, ask, pool } = await assistantRig(t);
  const id = await begin();
  await ask({ text: 'mine' }, { id });
  const get = async (headers: Record<string, string>, path: string) =>
    (await api.call('GET', path, { headers })).status;
  t.equal(await get(dana.headers, `${root}/${id}`), 200);
  t.equal(await get(vera.headers, `${root}/${id}`), 404);
  t.equal(await get(vera.headers, `${root.replace('shop', 'blog')}/${id}`), 404);
  const admin = await signedIn(pool, 'root', { role: 'admin' });
  t.equal(await get(admin.headers, `${root}/${id}`), 404, 'not even of a platform admin');
  t.equal((await api.call('DELETE', `${root}/${id}`, { headers: vera.headers })).status, 404);
  t.equal((await ask({ text: '?' }, { id, person: vera })).status, 404);
  t.equal(await get(dana.headers, `${root}/none`), 400);
  t.match((await api.call('GET', root, { headers: dana.headers })).body, { items: [{ id, title: 'mine' }] });
  t.same((await api.call('GET', root, { headers: vera.headers })).body, { items: [] });
  t.equal((await api.call('DELETE', `${root}/${id}`, { headers: dana.headers })).status, 204);
  t.equal(await get(dana.headers, `${root}/${id}`), 404);
  t.same((await pool.query('SELECT 1 FROM assistant_messages')).rows, []);
});

t.test('the newest hundred conversations are kept, with fifty messages each', async (t) => {
  const { api, root, dana, begin, ask, pool } = await assistantRig(t);
  const ids: string[] = [];
  for (let count = 0; count < 101; count++) {
    ids.push(await begin());
    await pool.query(`UPDATE assistant_conversations SET title = 'sealed' WHERE id = $1`, [ids.at(-1)]);
  }
  const first = await api.call('GET', `${root}?limit=100`, { headers: dana.headers });
  t.equal(first.body.items.length, 100);
  t.notOk(first.body.items.some((item: { id: string }) => item.id === ids[0]));
  const page = await api.call('GET', `${root}?limit=2`, { headers: dana.headers });
  t.match(page.body, { items: [{ id: ids[100] }, { id: ids[99] }], nextCursor: ids[99] });
  const id = ids[100] ?? '';
  await ask({ text: '?' }, { id });
  await pool.query(
    `INSERT INTO assistant_messages (id, conversation_id, state, content)
     SELECT gen_random_uuid(), conversation_id, state, content FROM assistant_messages, generate_series(1, 49)`,
  );
  t.match(await ask({ text: '?' }, { id }), { status: 409, code: 'conflict' });
  const { body } = await api.call('GET', `${root}/${id}`, { headers: dana.headers });
  const questions = body.messages.map(({ question }: { question: string }) => question);
  const unreadable = '(cannot be read: its encryption key was removed)';
  t.equal(questions.filter((question: string) => question === unreadable).length, 49, 'a text is bound to its record');
});

t.test('a conversation whose question was refused is not listed, and takes the place of no other', async (t) => {
  const { api, root, dana, ask, begin, pool } = await assistantRig(t);
  const { conversation } = await ask({ text: 'first' });
  t.equal((await ask({ text: 'x'.repeat(8_001) })).status, 400);
  const list = async () =>
    (await api.call('GET', root, { headers: dana.headers })).body.items.map(({ id }: { id: string }) => id);
  t.same(await list(), [conversation]);
  for (let count = 0; count < 100; count++) await begin();
  t.same(await list(), [conversation]);
  t.equal((await pool.query('SELECT 1 FROM assistant_conversations')).rowCount, 100);
});

t.test('when the secrets cannot be read, nothing is sent', async (t) => {
  const { ask, provider, pool } = await assistantRig(t, {
    projectRedact: async () => {
      throw new Problem('unavailable', 'No.');
    },
  });
  t.match(await ask({ text: '?' }), { status: 503, code: 'unavailable' });
  t.same(provider.requests, []);
  t.same((await pool.query('SELECT 1 FROM assistant_messages')).rows, []);
});

t.test('when a call cannot be recorded, the provider does not get its result', async (t) => {
  const { ask, provider } = await assistantRig(t, {
    handlers,
    script: [calls(['show_logs', { kind: 'app', name: 'api' }]), says('never')],
    recordAudit: async () => {
      throw new Error('the database is away');
    },
  });
  t.equal((await ask({ text: '?' })).code, 'unavailable');
  t.equal(provider.requests.length, 1);
});
