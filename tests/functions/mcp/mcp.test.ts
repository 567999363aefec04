import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import t, { type Test } from 'tap';
import { createMcpRoutes } from '../../../functions/mcp/handler.ts';
import { readTools } from '../../../runtime/assistant/read-tools.ts';
import { writeTools } from '../../../runtime/assistant/write-tools.ts';
import { Problem } from '../../../runtime/domain/problem.ts';
import type { Authenticate, Session } from '../../../runtime/http/route.ts';
import { testApi, testSession } from '../../support/api.ts';
import { recordingLog } from '../../support/log.ts';
import { dataOf, testTools, type Handlers } from '../../support/tools.ts';

const handlers: Handlers = {
  'GET /session': async ({ session }) => ({ status: 200, body: { email: session?.email, role: 'admin' } }),
  'GET /projects/:project': async ({ params }) => {
    if ((params as { project: string }).project !== 'shop') throw new Problem('not_found', 'There is no project.');
    return { status: 200, body: { name: 'shop' } };
  },
};

async function world(t: Test, session: Session = testSession) {
  const recording = recordingLog();
  const tools = await testTools({ handlers });
  const seen: (string | undefined)[] = [];
  const authenticate: Authenticate = async ({ headers }) => {
    seen.push(headers['cookie'] as string | undefined);
    if (headers['authorization'] === 'Bearer good' || headers['cookie'] === 'svc_session=good') return session;
    throw new Problem('unauthenticated', 'Log in.');
  };
  const api = await testApi(t, {
    routes: [],
    rootRoutes: createMcpRoutes({ tools, version: '1.2.3', baseUrl: 'http://console.test' }),
    log: recording.log,
    authenticate,
  });
  const connect = async (mode: 'legacy' | 'auto') => {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    const headers = { authorization: 'Bearer good' };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${api.url}/mcp`), { requestInit: { headers } }));
    t.teardown(() => client.close());
    return client;
  };
  const audits = () => recording.entries.filter(({ msg }) => msg === 'audit');
  return { ...api, connect, audits, seen };
}

for (const mode of ['legacy', 'auto'] as const) {
  t.test(`the official client lists and calls the tools (${mode})`, async (t) => {
    const { connect, audits } = await world(t);
    const client = await connect(mode);
    t.match(client.getServerVersion(), { name: 'svc', version: '1.2.3' });
    t.match(client.getInstructions(), /never an instruction/);
    const { tools } = await client.listTools();
    t.same(
      tools.map(({ name }) => name),
      [...readTools, ...writeTools].map(({ name }) => name),
    );
    t.match(tools[0], { annotations: { readOnlyHint: true } });
    t.same(audits(), [], 'nothing was called yet');
    const shown = await client.callTool({ name: 'show_project', arguments: { project: 'shop' } });
    t.notOk(shown.isError);
    const [content] = shown.content as { type: string; text: string }[];
    t.same(dataOf(content?.text ?? ''), { name: 'shop' });
    const refused = await client.callTool({ name: 'show_project', arguments: { project: 'blog' } });
    t.equal(refused.isError, true);
    t.match(audits(), [{ action: 'tool.call', actor: testSession.email, tool: 'show_project', project: 'shop' }]);
    t.equal(audits().length, 1, 'the refused call has none');
  });
}

t.test('only a bearer token opens it, and no page of another site', async (t) => {
  const api = await world(t);
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
  const post = async (headers: Record<string, string>) => (await api.call('POST', '/mcp', { body, headers })).status;
  t.equal(await post({}), 200);
  t.equal(await post({ authorization: '', cookie: 'svc_session=good' }), 401, 'never by a cookie');
  t.same(api.seen, [undefined, undefined], 'the cookie is not even read');
  for (const origin of [
    'http://evil.test',
    'null',
    'http://127.0.0.1',
    'https://console.test',
    'http://console.test:81',
  ]) {
    t.equal(await post({ origin }), 403, origin);
  }
  t.equal(await post({ origin: 'http://console.test' }), 200);
  t.equal(
    await post({ origin: 'http://evil.test', host: 'evil.test' }),
    403,
    'a host name that leads here for a moment',
  );
});

t.test('what is no message of the protocol is refused', async (t) => {
  const api = await world(t);
  const status = async (body: unknown) => (await api.call('POST', '/mcp', { body })).status;
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  t.equal(await status([list, list]), 400, 'a list of messages');
  t.equal(await status('{'), 400);
  t.equal(await status({ ...list, jsonrpc: '1.0' }), 400);
  t.equal(await status({ ...list, id: 'x'.repeat(300) }), 400);
  t.equal(await status({ ...list, params: 'x'.repeat(70_000) }), 413);
  t.equal(await status({ jsonrpc: '2.0', method: 'notifications/initialized' }), 202);
  t.equal(await status({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params: {} }), 404, 'it never ends');
  t.match((await api.call('POST', '/mcp', { body: { ...list, method: 'tools/steal' } })).body, {
    error: { code: -32601 },
  });
  const call1 = { ...list, method: 'tools/call', params: { name: 'whoami', arguments: 'x' } };
  t.match((await api.call('POST', '/mcp', { body: call1 })).body, { error: { code: -32602 } });
  for (const method of ['GET', 'DELETE', 'PUT']) {
    const answer = await api.call(method, '/mcp');
    t.same([answer.status, answer.headers.get('allow')], [405, 'POST'], method);
  }
  t.same(api.audits(), []);
});

t.test('a user with a one-time password has no tools', async (t) => {
  const api = await world(t, { ...testSession, passwordChangeRequired: true });
  const { status, body } = await api.call('POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } });
  t.same([status, body.code], [403, 'password_change_required']);
});
