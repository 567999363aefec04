import t from 'tap';
import { seedProject } from '../support/objects.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { tokenScopes } from '../../runtime/domain/token-scopes.ts';
import { insertAuditEntry, listAuditEntries } from '../../runtime/records/audit-entries.ts';
import { createAuditedLimit } from '../../runtime/http/audited-limit.ts';
import { route } from '../../runtime/http/route.ts';
import { testApi, testSession } from '../support/api.ts';
import { accessToken } from '../support/access-tokens.ts';
import { signedIn } from '../support/people.ts';
import { auditedRoute, auditRig, shop } from '../functions/audit/rig.ts';

const blog = '/api/v1/projects/blog';
const everything = '/api/v1/platform/audit';

t.test('an admin of one project reads no entry of another, with whatever filter', async (t) => {
  const { pool, call, boss, blogger, projectId } = await auditRig(t);
  await call('PUT', `${shop}/members/secret-guest@svc.local`, boss, { role: 'viewer' });
  await insertAuditEntry(pool, { line: { action: 'user.delete', actor: 'root@svc.local', user: { email: 'x@y.z' } } });
  const [entry] = await listAuditEntries(pool, { projectId, limit: 1 });
  for (const query of [
    '',
    'action=member.',
    `actor=${boss.email}`,
    'object=secret-guest@svc.local',
    `cursor=${newId()}`,
    'environment=prod',
  ]) {
    t.match(await call('GET', `${blog}/audit?${query}`, blogger), { status: 200, body: { items: [] } }, query);
  }
  for (const query of ['project=shop', `projectId=${projectId}`, 'action=a&action=b', `id=${entry?.id}`]) {
    t.equal((await call('GET', `${blog}/audit?${query}`, blogger)).status, 400, query);
  }
  const denied = await call('GET', `${shop}/audit`, blogger);
  t.equal(denied.status, 404, 'the project does not exist for them');
  t.notMatch(denied.text, 'secret-guest');
  for (const person of [boss, blogger]) {
    t.match(await call('GET', everything, person), { status: 403, body: { code: 'forbidden' } });
  }
});

t.test('members who are no admins, and access tokens of every scope, read nothing', async (t) => {
  const { pool, call, boss, root, projectId } = await auditRig(t);
  for (const role of ['viewer', 'deployer'] as const) {
    const person = await signedIn(pool, role, { projects: { [projectId]: role } });
    t.match(await call('GET', `${shop}/audit`, person), { status: 403, body: { code: 'forbidden' } }, role);
  }
  for (const person of [boss, root]) {
    const { headers } = await accessToken(pool, person, { projectId, scopes: [...tokenScopes] });
    for (const path of [`${shop}/audit`, everything]) {
      const answer = await call('GET', path, { ...person, headers });
      t.match(answer, { status: 403, body: { code: 'forbidden' } }, `${person.email} ${path}`);
    }
  }
});

t.test('a project’s admin does not learn from entries whether an address has an account', async (t) => {
  const { pool, call, entries, boss, root } = await auditRig(t);
  const user = await signedIn(pool, 'known');
  for (const name of ['known', 'unknown']) {
    await call('PUT', `${shop}/members/${name}@svc.local`, boss, { role: 'viewer' });
    await call('DELETE', `${shop}/members/${name}@svc.local`, boss);
  }
  const answer = await call('GET', `${shop}/audit`);
  t.notMatch(answer.text, user.id);
  const shapes = (await entries()).map(({ action, details }) =>
    JSON.stringify([action, details]).replace('unknown', 'known'),
  );
  t.equal(shapes.length, 4);
  t.equal(new Set(shapes).size, 2, 'the same for both');
  t.match((await call('GET', everything, root)).text, user.id, 'platform admins see accounts');
});

t.test('a new project of the same name shows nothing of the old one, whose entries platform admins keep', async (t) => {
  const { pool, kube, call, entries, root } = await auditRig(t);
  await call('PUT', `${shop}/members/guest@svc.local`, undefined, { role: 'viewer' });
  await kube.delete({ apiVersion: 'platform.svc/v1', kind: 'Project', name: 'shop' });
  t.equal((await call('GET', `${shop}/audit`)).status, 404);
  const id = newId();
  seedProject(kube, { name: 'shop', id });
  const next = await signedIn(pool, 'next', { projects: { [id]: 'admin' } });
  t.same(await entries(`${shop}/audit`, next), []);
  t.match(await entries(`${everything}?project=shop`, root), [{ action: 'member.set', project: 'shop' }]);
});

t.test('no text of a request keeps its entry from being stored, and every text stays text', async (t) => {
  const hostile = [
    '<img src=x onerror=alert(1)>',
    '\ud800 alone \udfff',
    'a\u0000b',
    '\u001b[2J\r\n{"msg":"audit"}',
    "'; DROP TABLE audit_entries; --",
    '__proto__',
    '\u202egnp.exe',
    '%_\\',
  ];
  let current = '';
  const routes = [
    auditedRoute('POST', () => ({ names: [current], [current.slice(0, 50)]: current, environment: current })),
  ];
  const { call, entries, stored, boss } = await auditRig(t, { routes });
  for (const text of hostile) {
    current = text;
    t.equal((await call('POST', `${shop}/apps/api/change`)).status, 204, JSON.stringify(text));
  }
  const shown = (await entries()) as unknown as { details: { names: string[] } }[];
  t.same(new Set(shown.map(({ details }) => details.names[0])), new Set(hostile));
  t.equal(shown.length, hostile.length);
  t.ok(shown.every(({ details }) => Object.getPrototypeOf(details) === Object.prototype));
  t.same(await entries(`${shop}/audit?object=${encodeURIComponent('%_\\')}`), [], 'no pattern');
  t.match(await entries(`${shop}/audit?environment=${encodeURIComponent(hostile[0] ?? '')}`), [{ actor: boss.email }]);
  current = 'x'.repeat(1_000_000);
  t.equal((await call('POST', `${shop}/apps/api/change`)).status, 204);
  const rows = await stored();
  t.equal(rows.length, hostile.length + 1);
  t.ok(
    rows.every((row) => JSON.stringify(row).length < 10_000),
    'however long a request is, its entry is short',
  );
});

t.test('429: a script of one user stores few entries, and keeps out no other user, admin or reading', async (t) => {
  let stored = 0;
  const done = () => Promise.resolve({ status: 204, audit: {} });
  const shared = {
    path: '/change',
    access: 'session',
    tag: 'test',
    summary: 'Changes.',
    replies: { 204: null },
  } as const;
  const api = await testApi(t, {
    routes: [
      route({ ...shared, method: 'POST', audit: 'app.update', handle: done }),
      route({ ...shared, method: 'GET', handle: done }),
    ],
    authenticate: ({ headers }) => {
      const userId = String(headers['authorization']);
      return Promise.resolve({ ...testSession, userId, role: userId === 'root' ? 'admin' : 'member' });
    },
    recordAudit: () => {
      stored++;
      return Promise.resolve();
    },
    auditedLimits: { burst: 3, perSecond: 0.000_01 },
  });
  const call = async (authorization: string, method = 'POST') =>
    (await api.call(method, '/api/v1/change', { headers: { authorization } })).status;
  const statuses: number[] = [];
  for (let count = 0; count < 5; count++) statuses.push(await call('mallory'));
  t.same(statuses, [204, 204, 204, 429, 429]);
  t.equal(stored, 3);
  t.equal(await call('mallory', 'GET'), 204);
  t.equal(await call('dana'), 204);
  for (let count = 0; count < 5; count++) t.equal(await call('root'), 204, 'a platform admin has no limit');

  let now = 0;
  const limit = createAuditedLimit({ burst: 2, perSecond: 4 }, () => now);
  const take = () => limit.take({ userId: 'a', role: 'member' });
  take();
  take();
  t.throws(take, { code: 'too_many_requests', details: { retryAfterSeconds: 1 } });
  now = 250;
  t.doesNotThrow(take, 'a quarter of a second later');
  t.throws(take);
  now = 3_600_000;
  take();
  take();
  t.throws(take, 'a pause saves no more than the burst');
});
