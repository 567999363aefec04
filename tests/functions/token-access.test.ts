import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { createAuthenticate } from '../../functions/sessions/authenticate.ts';
import { createProjectAccess } from '../../runtime/api/project-access.ts';
import { includesScope, tokenScopes, type TokenScope } from '../../runtime/domain/token-scopes.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { parameterNames } from '../../runtime/http/query.ts';
import type { Route } from '../../runtime/http/route.ts';
import { accessToken } from '../support/access-tokens.ts';
import { testApi } from '../support/api.ts';
import { fakeKube } from '../support/fake-kube.ts';
import { environmentId, seedProject } from '../support/objects.ts';
import { signedIn } from '../support/people.ts';
import { testDatabase } from '../support/postgres.ts';
import { declaredRoutes } from './all-routes.ts';

const [shopId, blogId] = [newId(), newId()];

/** `GET /projects/:project/apps` → the scope that docs/reference/tokens.md documents. */
function documented(): Map<string, TokenScope> {
  const text = readFileSync(join(import.meta.dirname, '../../docs/reference/tokens.md'), 'utf8');
  const rows = [...text.matchAll(/^\| ([A-Z]+) +\| `([^`]+)` *\| `([a-z:]+)` *\|$/gm)];
  return new Map(
    rows.map(([, method, path = '', scope]) => [
      `${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
      scope as TokenScope,
    ]),
  );
}

const nameOf = ({ method, path }: Route) => `${method} ${path}`;

t.test('the documented table names every route that a token opens, with its scope', async (t) => {
  const { routes, root } = await declaredRoutes();
  const declared = [...root, ...routes].flatMap((each) => {
    const { access } = each;
    return typeof access === 'object' && access.scope ? [[nameOf(each), access.scope]] : [];
  });
  t.ok(declared.length > 60);
  const order = (entries: Iterable<string[]>) => [...entries].sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
  t.same(order(documented().entries()), order(declared));
});

/** The route with a handler that only shows that it was reached, and in which environment. */
function bare({ method, path, access, summary, tag, query }: Route): Route {
  const handle = async ({ query: parsed, grant }: Parameters<Route['handle']>[0]) => ({
    status: 200,
    headers: { reached: (parsed as { environment?: string }).environment ?? grant?.environment ?? 'all' },
  });
  return { method, path, access, summary, tag, ...(query && { query }), replies: { 200: null }, handle };
}

async function rig(t: { teardown(end: () => unknown): void }) {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  for (const [name, id] of [
    ['shop', shopId],
    ['blog', blogId],
  ] as const) {
    seedProject(kube, { name, id, environments: ['prod', 'dev'] });
  }
  const { routes, root } = await declaredRoutes();
  const api = await testApi(t, {
    routes: routes.map(bare),
    rootRoutes: root.map(bare),
    authenticate: createAuthenticate({ pool, clock: systemClock, baseUrl: 'http://console.test' }),
    authorize: createProjectAccess({ kube, pool }).authorize,
  });
  const call = async (route: Route, headers: Record<string, string>, project = 'shop', query = '') => {
    const prefix = root.includes(route) ? '' : '/api/v1';
    const url = `${prefix}${route.path.replace(':project', project).replaceAll(/:\w+/g, 'x')}${query}`;
    const { status, body, headers: answered } = await api.call(route.method, url, { headers });
    const { code, details } = (body ?? {}) as { code?: string; details?: { needs?: string } };
    return [status, code ?? answered.get('reached'), ...(code === 'scope_missing' ? [details?.needs] : [])].join(' ');
  };
  return { pool, call, routes: [...root, ...routes] };
}

t.test('every route with a token of every scope, in its own project and in another', async (t) => {
  const { pool, call, routes } = await rig(t);
  // Nothing but the token limits the caller: an admin of both projects, and of the platform.
  const person = await signedIn(pool, 'admin', { role: 'admin', projects: { [shopId]: 'admin', [blogId]: 'admin' } });
  const scopesOf = documented();
  let requests = 0;
  for (const granted of tokenScopes) {
    const token = await accessToken(pool, person, { projectId: shopId, scopes: [granted] });
    for (const route of routes) {
      const { access } = route;
      const name = nameOf(route);
      const needed = scopesOf.get(name);
      const opened = needed !== undefined && includesScope([granted], needed);
      const refused = needed === undefined ? '403 forbidden' : `403 scope_missing ${needed}`;
      const inProject = typeof access === 'object';
      const free = access === 'public' || access === 'webhook' || access === 'principal' || access === 'bearer';
      const own = free || opened ? '200 all' : refused;
      t.equal(await call(route, token.headers), own, `${granted}: ${name}`);
      t.equal(await call(route, token.headers, 'blog'), inProject ? '404 not_found' : own, `${granted}, blog: ${name}`);
      requests += 2;
    }
  }
  t.ok(requests > 900, `${requests} requests`);
});

t.test('every route with a token of one environment', async (t) => {
  const { pool, call, routes } = await rig(t);
  const person = await signedIn(pool, 'admin', { projects: { [shopId]: 'admin' } });
  const token = await accessToken(pool, person, {
    projectId: shopId,
    scopes: ['write', 'logs:read'],
    environment: { id: environmentId, name: 'prod' },
  });
  const scopesOf = documented();
  const outside: string[] = [];
  for (const route of routes.filter((each) => scopesOf.has(nameOf(each)))) {
    const { access, query } = route;
    const name = nameOf(route);
    const checked = typeof access === 'object' && access.environment === 'handler';
    if (parameterNames(query).includes('environment')) {
      t.notOk(checked, `${name}: the host checks it`);
      t.equal(await call(route, token.headers), '200 prod', name);
      t.equal(await call(route, token.headers, 'shop', '?environment=prod'), '200 prod', name);
      for (const other of ['dev', 'none', '', 'prod&environment=dev', 'dev&environment=prod', 'prod%00']) {
        t.equal(
          await call(route, token.headers, 'shop', `?environment=${other}`),
          '403 forbidden',
          `${other}: ${name}`,
        );
      }
    } else if (checked) t.equal(await call(route, token.headers), '200 prod', `${name}: the grant names it`);
    else {
      t.equal(await call(route, token.headers), '403 forbidden', name);
      outside.push(name);
    }
  }
  t.same(outside, ['POST /projects/:project/apps/:app/promote'], 'routes that concern several environments');
});

t.test('a token never has more rights than its user has now', async (t) => {
  const { pool, call, routes } = await rig(t);
  const person = await signedIn(pool, 'dana', { projects: { [shopId]: 'deployer' } });
  const token = await accessToken(pool, person, { projectId: shopId, scopes: ['write', 'logs:read'] });
  const [read, write] = ['GET /projects/:project/apps', 'POST /projects/:project/apps'].map((name) =>
    routes.find((each) => nameOf(each) === name),
  );
  if (!read || !write) throw new Error('no routes');
  const rights = async () => [await call(read, token.headers), await call(write, token.headers)];
  t.same(await rights(), ['200 all', '200 all']);
  const set = (statement: string) => pool.query(statement, [person.id]);
  await set(`UPDATE project_members SET role = 'viewer' WHERE user_id = $1`);
  t.same(await rights(), ['200 all', '403 forbidden'], 'lowered');
  await set('DELETE FROM project_members WHERE user_id = $1');
  t.same(await rights(), ['404 not_found', '404 not_found'], 'removed');
  await set(`UPDATE users SET role = 'admin' WHERE id = $1`);
  t.same(await rights(), ['200 all', '200 all'], 'a platform admin');
  await set('UPDATE users SET one_time_until = now() WHERE id = $1');
  t.same(await rights(), ['401 unauthenticated', '401 unauthenticated'], 'with a one-time password');
  await set('UPDATE users SET one_time_until = NULL, disabled_at = now() WHERE id = $1');
  t.same(await rights(), ['401 unauthenticated', '401 unauthenticated'], 'disabled');
  await set('DELETE FROM users WHERE id = $1');
  t.same((await pool.query('SELECT FROM access_tokens')).rowCount, 0, 'deleted with its user');
});
