import { join } from 'node:path';
import t from 'tap';
import type { AnswerEvent } from '../../runtime/contracts/api/assistant.ts';
import { id, world, type Routes } from './world.ts';

const root = '/api/v1/projects/shop/assistant/conversations';
const view = { id, title: '', createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' };
const limits = { fileBytes: 262_144, messageBytes: 1_048_576, files: 20, questionLength: 8_000 };
const done: AnswerEvent = { type: 'done', message: id, usage: { inputTokens: 1, outputTokens: 1 }, cut: false };

function answers(...events: AnswerEvent[]): Routes {
  return {
    'GET /api/v1/assistant': {
      body: { available: true, model: 'm', host: 'ai.test', sends: ['names', 'logs'], limits },
    },
    [`POST ${root}`]: { status: 201, body: view },
    [`POST ${root}/${id}/messages`]: { body: `\n${events.map((event) => `${JSON.stringify(event)}\n`).join('\n')}` },
  };
}

const source: AnswerEvent = {
  type: 'source',
  kind: 'logs',
  name: 'api',
  of: 'app',
  project: 'shop',
  environment: 'prod',
  command: 'svc app logs api',
};

const prepared: AnswerEvent = {
  type: 'prepared',
  method: 'POST',
  path: '/api/v1/projects/shop/apps/api/restart',
  command: 'svc app restart api --project shop',
};

t.test('the answer is printed with its sources and the prepared commands, which are not run', async (t) => {
  const { run, seen } = await world(
    t,
    answers(
      { type: 'tool', tool: 'show_logs', names: { app: 'api' }, refused: false },
      source,
      source,
      { ...source, time: '2026-01-01T00:00:05.123Z', pod: 'api-1', command: 'svc app logs api --at 2026' },
      { type: 'source', kind: 'project', name: 'shop', project: 'shop' },
      { type: 'tool', tool: 'show_gate_status', names: {}, refused: true },
      { type: 'text', text: 'It **failed**: ' },
      { type: 'text', text: 'PORT is not set.' },
      prepared,
      { type: 'text', text: ' Restart it.' },
      done,
    ),
  );
  const { code, stdout, stderr } = await run(['ask', 'why?', '--app', 'api', '--environment', 'prod']);
  t.equal(code, 0, stderr);
  t.equal(
    stdout,
    'It **failed**: PORT is not set. Restart it.\n\nBased on:\n' +
      '  logs of the app api in prod: svc app logs api\n' +
      '  logs of the app api in prod at 2026-01-01T00:00:05.123Z: svc app logs api --at 2026\n' +
      '  project shop\n\n' +
      'Prepared, not run:\n  svc app restart api --project shop\n',
  );
  t.match(stderr, /m at ai\.test gets names; logs\n/);
  t.match(stderr, /called: show_logs app=api\nrefused: show_gate_status\n/);
  t.match(stderr, `svc ask --conversation ${id} --project shop --environment prod`);
  t.same(
    seen.map(({ method, path }) => `${method} ${path}`),
    ['GET /api/v1/assistant', `POST ${root}`, `POST ${root}/${id}/messages`],
  );
  t.same(seen.at(-1)?.body, { text: 'why?', files: [], page: { environment: 'prod', app: 'api' } });
});

t.test('a prepared command with code begins at the start of a line, so that it can be copied', async (t) => {
  const command = "svc function create hello --runtime node --code-file - --project shop <<'END'\n  a();\nEND";
  const { run } = await world(t, answers({ ...prepared, command }, prepared, { type: 'text', text: 'ok' }, done));
  const { stdout } = await run(['ask', 'write a function that greets']);
  t.equal(stdout, `ok\n\nPrepared, not run:\n${command}\n  svc app restart api --project shop\n`);
});

t.test('files are sent with their bytes and without their folder, and a conversation is continued', async (t) => {
  const { run, seen } = await world(t, answers({ type: 'text', text: 'ok\n' }, done));
  const folder = t.testdir({ 'a.txt': 'ä\n' });
  const { code, stdout } = await run(['ask', '?', '--file', join(folder, 'a.txt'), '--conversation', id]);
  t.same([code, stdout], [0, 'ok\n']);
  t.equal(seen.length, 1, 'no new conversation');
  t.match(seen[0]?.body, { files: [{ name: 'a.txt', content: Buffer.from('ä\n').toString('base64') }] });
  t.match(await run(['ask', '?', '--file', join(folder, 'none')]), { code: 2, stderr: /Cannot read/ });
  t.match(await run(['ask']), { code: 2 });
});

t.test('json prints the events', async (t) => {
  const { run } = await world(t, answers({ type: 'text', text: 'ok' }, done));
  const { stdout } = await run(['ask', '?', '-o', 'json']);
  t.same(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object),
    [{ type: 'text', text: 'ok' }, done],
  );
});

t.test('refusals and faults have their codes', async (t) => {
  const { run, routes } = await world(
    t,
    answers({ type: 'text', text: 'half' }, { type: 'error', code: 'provider_cut_off', error: 'It ended.' }),
  );
  t.match(await run(['ask', '?']), { code: 1, stdout: 'half\n', stderr: /error: It ended\. \(provider_cut_off\)/ });
  routes[`POST ${root}/${id}/messages`] = { body: `${JSON.stringify({ type: 'text', text: 'half' })}\n` };
  t.match(await run(['ask', '?']), { code: 1, stderr: /The answer ended early\./ });
  routes[`POST ${root}/${id}/messages`] = {
    status: 409,
    body: { code: 'assistant_not_configured', message: 'No provider. Set one: svc platform assistant set' },
  };
  t.match(await run(['ask', '?']), { code: 1, stderr: /svc platform assistant set \(assistant_not_configured\)/ });
});

t.test('the newest conversation is continued', async (t) => {
  const { run, seen, routes } = await world(t, {
    ...answers({ type: 'text', text: 'ok' }, done),
    [`GET ${root}`]: { body: { items: [view], nextCursor: id } },
  });
  t.match(await run(['ask', '--continue', 'and since when?']), { code: 0, stdout: 'ok\n' });
  t.same(
    seen.map(({ method, path, query }) => [method, path, query]),
    [
      ['GET', root, { limit: '1' }],
      ['POST', `${root}/${id}/messages`, {}],
    ],
  );
  routes[`GET ${root}`] = { body: { items: [] } };
  t.match(await run(['ask', '-c', '?']), { code: 1, stderr: /no conversation in shop\..*ask without --continue/s });
  t.match(await run(['ask', '-c', '?', '--conversation', id]), { code: 2, stderr: /only one of/ });
});
