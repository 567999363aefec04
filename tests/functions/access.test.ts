import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { z } from 'zod';
import t from 'tap';
import { createFunctionRoutes } from '../../functions/functions/handler.ts';
import { createProjectRoutes } from '../../functions/projects/handler.ts';
import { createAuthenticate } from '../../functions/sessions/authenticate.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { createProjectAccess } from '../../runtime/api/project-access.ts';
import { parameterNames } from '../../runtime/http/query.ts';
import { route, type Access, type Route } from '../../runtime/http/route.ts';
import { testApi } from '../support/api.ts';
import { fakeKube, type FakeKube } from '../support/fake-kube.ts';
import { readyProject, seedProject } from '../support/objects.ts';
import { signedIn, type PersonOptions } from '../support/people.ts';
import { testDatabase } from '../support/postgres.ts';
import { declaredRoutes } from './all-routes.ts';

const projectId = newId();

interface Teardown {
  teardown(end: () => unknown): void;
}

/** `GET /projects/:project` → the access that docs/reference/roles.md documents. */
function documented(): Map<string, string> {
  const text = readFileSync(join(import.meta.dirname, '../../docs/reference/roles.md'), 'utf8');
  const rows = [...text.matchAll(/^\| ([A-Z]+) +\| `([^`]+)` *\| ([a-z ]+?) *\|$/gm)];
  const names = rows.map(([, method, path = '']) => `${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`);
  t.equal(new Set(names).size, names.length, 'no route is listed twice');
  return new Map(rows.map(([, , , needs = ''], index) => [names[index] ?? '', needs]));
}

function wordsOf(access: Access): string {
  if (typeof access === 'object') return access.project + (access.orWebhook ? ' or webhook token' : '');
  if (access === 'public') return 'anyone';
  if (access === 'session') return 'user';
  if (access === 'principal') return 'account or token';
  if (access === 'bearer') return 'user or token';
  return access === 'platform-admin' ? 'platform admin' : access === 'webhook' ? 'webhook token' : access;
}

/** Every kind of caller, and the status for each access level; 204 is the handler's answer. */
const callers: Record<string, PersonOptions | undefined> = {
  anonymous: undefined,
  newcomer: { newcomer: true, role: 'admin', projects: { [projectId]: 'admin' } },
  stranger: { projects: { [newId()]: 'admin' } },
  viewer: { projects: { [projectId]: 'viewer' } },
  deployer: { projects: { [projectId]: 'deployer' } },
  admin: { projects: { [projectId]: 'admin' } },
  'platform-admin': { role: 'admin' },
};
const order = Object.keys(callers);
const expected: Record<string, number[]> = {
  //                        anonymous, newcomer, stranger, viewer, deployer, admin, platform admin
  anyone: [204, 204, 204, 204, 204, 204, 204],
  'webhook token': [204, 204, 204, 204, 204, 204, 204],
  account: [401, 204, 204, 204, 204, 204, 204],
  'account or token': [401, 204, 204, 204, 204, 204, 204],
  user: [401, 403, 204, 204, 204, 204, 204],
  'user or token': [401, 403, 204, 204, 204, 204, 204],
  'platform admin': [401, 403, 403, 403, 403, 403, 204],
  viewer: [401, 403, 404, 204, 204, 204, 204],
  'viewer or webhook token': [401, 403, 404, 204, 204, 204, 204],
  deployer: [401, 403, 404, 403, 204, 204, 204],
  admin: [401, 403, 404, 403, 403, 204, 204],
};

/** The route with a handler that only shows that it was reached. */
function bare({ method, path, access, summary, tag }: Route, calledHandlers: string[] = []): Route {
  const replies = { 204: null };
  const handle = () => {
    calledHandlers.push(`${method} ${path}`);
    return Promise.resolve({ status: 204 });
  };
  return { method, path, access, summary, tag, replies, handle };
}

function serve(t: Teardown, pool: Pool, kube: FakeKube, routes: Route[], rootRoutes: Route[] = []) {
  const { authorize } = createProjectAccess({ kube, pool });
  const authenticate = createAuthenticate({ pool, clock: systemClock, baseUrl: 'http://console.test' });
  return testApi(t, { routes, rootRoutes, authenticate, authorize });
}

/** A cluster with the project `shop` of an identity. */
function withShop(id = projectId, kube = fakeKube()): FakeKube {
  seedProject(kube, { name: 'shop', id });
  return kube;
}

t.test('the documented table names every route with the access that it declares', async (t) => {
  const { routes, root } = await declaredRoutes();
  const declared = [...root, ...routes].map((each) => [`${each.method} ${each.path}`, wordsOf(each.access)]);
  t.ok(declared.length > 60);
  const order = (entries: Iterable<string[]>) => [...entries].sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
  t.same(order(documented().entries()), order(declared));
  for (const { method, path, query } of routes) {
    // Parameters that the route does not have can be refused only if the names of its own are known.
    if (query) t.ok(parameterNames(query).length > 0, `the query of ${method} ${path} is an object`);
  }
});

t.test('every route in every role', async (t) => {
  const { pool } = await testDatabase(t);
  const people = new Map(
    await Promise.all(
      order.map(async (name) => {
        const options = callers[name];
        return [name, options ? (await signedIn(pool, name, options)).headers : { authorization: '' }] as const;
      }),
    ),
  );
  const { routes, root } = await declaredRoutes();
  const calledHandlers: string[] = [];
  const api = await serve(
    t,
    pool,
    withShop(),
    routes.map((each) => bare(each, calledHandlers)),
    root.map((each) => bare(each, calledHandlers)),
  );
  const needs = documented();
  for (const each of [...routes, ...root]) {
    const name = `${each.method} ${each.path}`;
    const want = expected[needs.get(name) ?? ''];
    t.ok(want, `${name} has an expectation`);
    const prefix = root.includes(each) ? '' : '/api/v1';
    const url = `${prefix}${each.path.replace(':project', 'shop').replaceAll(/:\w+/g, 'x')}`;
    const got: number[] = [];
    for (const caller of order) {
      calledHandlers.length = 0;
      const headers = people.get(caller) ?? {};
      const { status } = await api.call(each.method, url, { headers });
      got.push(status);
      t.same(calledHandlers, status === 204 ? [name] : [], `${name} for ${caller}: the handler`);
    }
    t.same(got, want, name);
  }
});

t.test('a project without a role for the caller looks like a missing one: the same bytes', async (t) => {
  const { pool } = await testDatabase(t);
  const stranger = await signedIn(pool, 'stranger', callers['stranger']);
  const { routes } = await declaredRoutes();
  const ofProjects = routes.filter(({ access }) => typeof access === 'object');
  const [existing, missing] = await Promise.all([
    serve(t, pool, withShop(), ofProjects),
    serve(t, pool, fakeKube(), ofProjects),
  ]);
  // An error of a handler or a schema would reveal the project.
  const body = '{"name":';
  for (const { method, path } of ofProjects) {
    const url = `/api/v1${path.replace(':project', 'shop').replaceAll(/:\w+/g, 'x')}?environment=none&limit=-1`;
    const options = { headers: stranger.headers, ...(method !== 'GET' && { body }) };
    const [one, other] = [await existing.call(method, url, options), await missing.call(method, url, options)];
    const headersOf = ({ headers }: typeof one) =>
      [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name));
    t.equal(one.status, 404, `${method} ${path}`);
    t.equal(one.text, other.text);
    t.same(headersOf(one), headersOf(other));
  }
});

t.test('403 names the required role and who can grant it; a changed role applies to the next request', async (t) => {
  const { pool } = await testDatabase(t);
  const { routes } = await declaredRoutes();
  const deploy = routes.filter(({ access }) => typeof access === 'object' && access.project === 'deployer').slice(0, 1);
  const api = await serve(
    t,
    pool,
    withShop(),
    deploy.map((each) => bare(each)),
  );
  const viewer = await signedIn(pool, 'viewer', callers['viewer']);
  const url = `/api/v1${deploy[0]?.path.replace(':project', 'shop').replaceAll(/:\w+/g, 'x')}`;
  const call = () => api.call(deploy[0]?.method ?? '', url, { headers: viewer.headers });
  t.match((await call()).body, { code: 'forbidden', message: /Ask a platform admin for it\.$/ });
  await signedIn(pool, 'boss', callers['admin']);
  const refused = await call();
  t.equal(refused.status, 403);
  t.same(refused.body, {
    code: 'forbidden',
    message: 'This requires the role "deployer" in the project "shop"; yours is "viewer". Ask boss@svc.local for it.',
    details: { needs: 'deployer', has: 'viewer', admins: ['boss@svc.local'] },
  });
  const set = (statement: string) => pool.query(`${statement} WHERE user_id = $1`, [viewer.id]);
  await set(`UPDATE project_members SET role = 'deployer'`);
  t.equal((await call()).status, 204);
  await set('DELETE FROM project_members');
  t.equal((await call()).status, 404);
  await pool.query(`UPDATE users SET role = 'admin' WHERE id = $1`, [viewer.id]);
  t.equal((await call()).status, 204);
  await pool.query('UPDATE users SET disabled_at = now() WHERE id = $1', [viewer.id]);
  t.equal((await call()).status, 401);
  await pool.query('DELETE FROM users WHERE id = $1', [viewer.id]);
  t.equal((await call()).status, 401);
});

t.test('a role belongs to the identity: a new project of the same name has no old members', async (t) => {
  const { pool } = await testDatabase(t);
  const kube = withShop();
  const { routes } = await declaredRoutes();
  const show = routes.filter(({ method, path }) => `${method} ${path}` === 'GET /projects/:project');
  const api = await serve(
    t,
    pool,
    kube,
    show.map((each) => bare(each)),
  );
  const { headers } = await signedIn(pool, 'admin', callers['admin']);
  t.equal((await api.call('GET', '/api/v1/projects/shop', { headers })).status, 204);
  await kube.delete({ apiVersion: 'platform.svc/v1', kind: 'Project', name: 'shop' });
  withShop(newId(), kube);
  t.equal((await api.call('GET', '/api/v1/projects/shop', { headers })).status, 404);
  for (const name of ['..', '%2e%2e%2fapps', 'a%2Fb', 'x'.repeat(500), '%00']) {
    const { status } = await api.call('GET', `/api/v1/projects/${name}`, { headers });
    t.equal(status, 404, name.slice(0, 20));
  }
  t.ok(kube.calls.every(({ name }) => name === undefined || name === 'shop' || name === '..') && kube.calls.length > 0);
});

t.test('lists show only what the caller may see', async (t) => {
  const { pool } = await testDatabase(t);
  const kube = withShop();
  kube.seed(...readyProject('blog'));
  for (const [name, namespace] of [
    ['one', 'shop-prod'],
    ['two', 'blog-prod'],
  ] as const) {
    const labels = { 'platform.svc/id': newId(), 'platform.svc/project': 'x', 'platform.svc/environment': 'prod' };
    const spec = { runtime: 'node', code: '', trigger: 'http', port: 8080, idleTimeoutSeconds: 300 };
    kube.seed({ apiVersion: 'platform.svc/v1', kind: 'Function', metadata: { name, namespace, labels }, spec });
  }
  const { visibleProjects } = createProjectAccess({ kube, pool });
  const nothing = () => Promise.resolve();
  const members = { countFounder: nothing, insertFounder: nothing, forget: nothing };
  const api = await serve(t, pool, kube, [
    ...createProjectRoutes({ kube, visibleProjects, members }),
    ...createFunctionRoutes({ kube, pool, visibleProjects, clock: systemClock, baseUrl: 'http://console.test' }),
  ]);
  for (const [name, projects, functions] of [
    ['stranger', [], []],
    ['viewer', ['shop'], ['one']],
    ['platform-admin', ['blog', 'shop'], ['two', 'one']],
  ] as const) {
    const { headers } = await signedIn(pool, name, callers[name]);
    const list = async (path: string) =>
      (await api.call('GET', `/api/v1/${path}`, { headers })).body.items.map((item: { name: string }) => item.name);
    t.same(await list('projects'), projects, name);
    t.same(await list('functions'), functions, name);
  }
});

t.test('a route of a project that names no role in it does not compile, and does not start', async (t) => {
  const { pool } = await testDatabase(t);
  const definition = {
    method: 'GET',
    path: '/projects/:project/things',
    summary: 'Lists.',
    tag: 'things',
    replies: { 204: null },
    handle: () => Promise.resolve({ status: 204 }),
  } as const;
  // @ts-expect-error -- a role has to be named
  const open = route({ ...definition, access: 'session' });
  // @ts-expect-error -- outside projects there are no roles in them
  const lost = route({ ...definition, path: '/things', access: { project: 'viewer' }, query: z.object({}) });
  for (const each of [open, lost]) {
    await t.rejects(serve(t, pool, fakeKube(), [each]), /must declare the project role that it needs/);
  }
});
