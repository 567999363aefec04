import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import t, { type Test } from 'tap';
import { createMcpRoutes } from '../../functions/mcp/handler.ts';
import { readTools } from '../../runtime/assistant/read-tools.ts';
import { writeTools } from '../../runtime/assistant/write-tools.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { route } from '../../runtime/http/route.ts';
import { sessionView } from '../../runtime/contracts/api/sessions.ts';
import { testApi, testSession } from '../support/api.ts';
import { dataOf, testTools, type Handlers } from '../support/tools.ts';
import { writeCases } from '../support/write-cases.ts';
import { world } from './world.ts';

const svc = join(import.meta.dirname, '../../cli/svc.js');
const identity = { email: testSession.email, role: 'admin' };

const handlers: Handlers = {
  'GET /session': async () => ({ status: 200, body: identity }),
  'GET /projects/:project': async () => {
    throw new Problem('not_found', 'There is no project.');
  },
};

/** The management API with `/mcp`, and the official client with `svc mcp` as its server. */
async function connected(t: Test, mode: 'legacy' | 'auto') {
  const tools = await testTools({ handlers });
  let valid = true;
  const api = await testApi(t, {
    routes: [
      route({
        method: 'GET',
        path: '/session',
        access: 'principal',
        summary: 'Shows the caller.',
        tag: 'test',
        replies: { 200: sessionView },
        handle: async () => ({ status: 200, body: identity }),
      }),
    ],
    rootRoutes: createMcpRoutes({ tools, version: '1', baseUrl: 'http://console.test' }),
    authenticate: async ({ headers }) => {
      if (valid && headers['authorization'] === 'Bearer good') return testSession;
      throw new Problem('unauthenticated', 'The token has ended.');
    },
  });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [svc, 'mcp'],
    env: { PATH: process.env['PATH'] ?? '', HOME: t.testdir({}), SVC_API: api.url, SVC_TOKEN: 'good' },
    stderr: 'pipe',
  });
  const notes: string[] = [];
  transport.stderr?.on('data', (chunk: Buffer) => notes.push(chunk.toString()));
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(transport);
  t.teardown(() => client.close());
  return { client, notes: () => notes.join(''), end: () => (valid = false) };
}

for (const mode of ['legacy', 'auto'] as const) {
  t.test(`the official client reaches the tools of the platform through svc mcp (${mode})`, async (t) => {
    const { client, notes, end } = await connected(t, mode);
    t.match(client.getServerVersion(), { name: 'svc' });
    const { tools } = await client.listTools();
    t.same(
      tools.map(({ name }) => name),
      [...readTools, ...writeTools].map(({ name }) => name),
    );
    const shown = await client.callTool({ name: 'whoami', arguments: {} });
    const [content] = shown.content as { text: string }[];
    t.same(dataOf(content?.text ?? ''), identity);
    t.equal((await client.callTool({ name: 'show_project', arguments: { project: 'x' } })).isError, true);
    t.match(notes(), /^serving the tools of http:\/\/127\.0\.0\.1:\d+ for admin@svc\.local\n$/);
    end();
    await t.rejects(client.callTool({ name: 'whoami', arguments: {} }), /The token has ended/);
  });
}

t.test('svc mcp ends with a message when its token is not valid, and writes nothing for a client', async (t) => {
  const { run } = await world(t, {
    'GET /api/v1/session': { status: 401, body: { code: 'unauthenticated', message: 'The token has ended.' } },
  });
  const { code, stdout, stderr } = await run(['mcp']);
  t.same([code, stdout], [4, '']);
  t.match(stderr, /error: The token has ended\./);
});

t.test('a platform without tools, and the end of standard input', async (t) => {
  const { run } = await world(t, { 'GET /api/v1/session': { body: identity } });
  const { code, stdout, stderr } = await run(['mcp'], { stdin: '' });
  t.same([code, stdout], [0, '']);
  t.match(stderr, /^serving the tools of /);
});

t.test('the command of a prepared request sends the same request', async (t) => {
  for (const [name, args, [method, path, body], command, stdin] of writeCases) {
    const environment = 'environment' in args ? ['--environment', 'prod'] : [];
    const { run, seen } = await world(t, { 'GET /api/v1/projects/shop/apps/api/history': { body: { items: [] } } });
    // The command asks a person.
    const confirmed = name === 'cancel_deployment' ? ['--yes'] : [];
    // As a shell reads it.
    const words = execFileSync('sh', ['-c', `printf '%s\\n' ${command}`], { encoding: 'utf8' })
      .trimEnd()
      .split('\n');
    const ran = await run([...words.slice(1), '--project', 'shop', ...environment, ...confirmed], {
      ...(stdin !== undefined && { stdin }),
    });
    const sent = seen.find((request) => request.method !== 'GET');
    t.match(
      sent,
      { method, path: `/api/v1${path}`, query: environment.length > 0 ? { environment: 'prod' } : {} },
      `${name}: ${ran.stderr}`,
    );
    // The command also names the type of events, which the request leaves to the trigger.
    if (name === 'create_function') t.match(sent?.body, body);
    else if (body) t.same(sent?.body, body, name);
  }
});
