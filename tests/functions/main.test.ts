import t from 'tap';
import { startConsole } from '../support/console-process.ts';
import { declaredRoutes } from './all-routes.ts';

t.test('console-api starts, serves, and drains on SIGTERM', async (t) => {
  // Read first: the import takes long enough on a busy machine that an idle connection would be closed meanwhile.
  const { routes, root } = await declaredRoutes();
  const { child, ended, lines, base, admin, password } = await startConsole(t);
  const ready = async () => (await fetch(`${admin}/ready`)).status;
  t.equal(await ready(), 200);
  t.equal((await fetch(`${base}/health`)).status, 200);
  t.equal((await fetch(`${base}/health/controllers`)).status, 503, 'no controller has reported');
  const document = (await (await fetch(`${base}/api/v1/openapi.json`)).json()) as { paths: Record<string, object> };
  const served = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((key) => key !== 'servers')
      .map((method) => `${method.toUpperCase()} ${path}`),
  );
  const declared = [...root, ...routes].map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
  t.same(served.sort(), declared.sort(), 'every route of every folder');
  const login = await fetch(`${base}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'admin@svc.local', password }),
  });
  t.equal(login.status, 201);
  const { token } = (await login.json()) as { token: string };
  const projects = await fetch(`${base}/api/v1/projects`, { headers: { authorization: `Bearer ${token}` } });
  t.equal(projects.status, 503);
  t.match(await projects.json(), { code: 'unavailable' });
  const tools = await fetch(`${base}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami', arguments: {} } }),
  });
  t.match(await tools.json(), { result: { content: [{ text: /"email":"admin@svc.local"/ }], isError: false } });

  child.kill('SIGTERM');
  while ((await ready()) !== 503) await new Promise((resolve) => setImmediate(resolve));
  t.equal((await fetch(`${base}/health`)).status, 200, 'late requests are served while the endpoints are updated');
  t.equal(await ended, 0);
  const output = lines.join('\n');
  t.match(output, 'process stopped');
  t.notMatch(output, password);
  t.notMatch(output, token);
});
