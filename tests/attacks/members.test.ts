import t, { type Test } from 'tap';
import { createMemberRoutes } from '../../functions/members/handler.ts';
import { createAuthenticate } from '../../functions/sessions/authenticate.ts';
import { createUserRoutes } from '../../functions/users/handler.ts';
import { createLoginLimit } from '../../functions/sessions/login-limit.ts';
import { createProjectAccess } from '../../runtime/api/project-access.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { testApi } from '../support/api.ts';
import { fakeKube } from '../support/fake-kube.ts';
import { readyProject } from '../support/objects.ts';
import { signedIn } from '../support/people.ts';
import { testDatabase } from '../support/postgres.ts';

const path = '/api/v1/projects/shop/members';

async function world(t: Test) {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  const projectId = newId();
  const [project] = readyProject('shop');
  if (project) kube.seed({ ...project, metadata: { ...project.metadata, labels: { 'platform.svc/id': projectId } } });
  const clock = systemClock;
  const passwords = { hash: () => Promise.resolve('hash'), matches: () => Promise.resolve(false) };
  const loginLimit = createLoginLimit({ pool, clock });
  const api = await testApi(t, {
    routes: [
      ...createMemberRoutes({ pool }),
      ...createUserRoutes({ pool, kube, clock, passwords: passwords as never, loginLimit }),
    ],
    authenticate: createAuthenticate({ pool, clock, baseUrl: 'http://console.test' }),
    authorize: createProjectAccess({ kube, pool }).authorize,
  });
  const admin = await signedIn(pool, 'admin', { role: 'admin' });
  const boss = await signedIn(pool, 'boss', { projects: { [projectId]: 'admin' } });
  const call = (method: string, at: string, body?: unknown, { headers } = boss) =>
    api.call(method, at, { headers, ...(body !== undefined && { body }) });
  return { pool, projectId, admin, boss, call };
}

t.test('a project’s admin does not learn whether an address has an account', async (t) => {
  const { pool, boss, call } = await world(t);
  await signedIn(pool, 'known');
  const off = await signedIn(pool, 'off');
  await pool.query('UPDATE users SET disabled_at = now() WHERE id = $1', [off.id]);
  const names = ['known', 'off', 'unknown'];
  /** Without what a caller knows already: the address and the time. */
  const seen = (text: string) => text.replaceAll(/known|unknown|off/g, 'x').replaceAll(/"since":"[^"]*"/g, '');
  const answersTo = async (method: string, body?: unknown) => {
    const answers = [];
    for (const name of names) answers.push(await call(method, `${path}/${name}@svc.local`, body));
    return new Set(answers.map(({ status, text }) => `${status} ${seen(text)}`.replace('ux', 'x').replace('unx', 'x')));
  };
  t.equal((await answersTo('PUT', { role: 'viewer' })).size, 1, 'added');
  t.equal((await answersTo('PUT', { role: 'deployer' })).size, 1, 'changed');
  t.equal(
    (await answersTo('PUT', { role: 'viewer', replaces: 'admin' })).size,
    1,
    'refused, because the role is another',
  );
  t.equal((await answersTo('PUT', { role: 'viewer', replaces: 'none' })).size, 1, 'refused, because there is a role');
  const { items } = (await call('GET', path)).body as { items: Record<string, unknown>[] };
  t.same(
    items.map((item) => [item['email'], Object.keys(item).sort()]),
    [boss.email, ...names.map((name) => `${name}@svc.local`)].map((email) => [email, ['email', 'role', 'since']]),
  );
  t.equal((await answersTo('DELETE')).size, 1, 'removed');
  t.equal((await answersTo('DELETE')).size, 1, 'not there');
  const other = await signedIn(pool, 'other');
  t.same(
    [
      await call('PUT', `${path}/${other.id}`, { role: 'viewer' }),
      await call('PUT', `${path}/${newId()}`, { role: 'viewer' }),
    ].map(({ status }) => status),
    [404, 404],
    'ids of strangers',
  );
});

t.test('an address gets its roles with its account', async (t) => {
  const { pool, projectId, admin, call } = await world(t);
  await call('PUT', `${path}/New@svc.local`, { role: 'viewer' });
  await call('PUT', `${path}/new@svc.local`, { role: 'deployer' });
  t.equal((await call('POST', '/api/v1/users', { email: 'new@svc.local', role: 'member' }, admin)).status, 201);
  const { rows } = await pool.query(
    `SELECT project_members.role FROM project_members JOIN users ON id = user_id WHERE project_id = $1 AND email = 'new@svc.local'`,
    [projectId],
  );
  t.same(rows, [{ role: 'deployer' }]);
  t.same((await pool.query('SELECT 1 FROM project_invitations')).rows, []);
  t.equal((await call('GET', path)).body.items.length, 2);
});

t.test('addresses without an account are limited, as are members', async (t) => {
  const { pool, projectId, call } = await world(t);
  await pool.query(
    `INSERT INTO project_invitations (project_id, email, role)
     SELECT $1, 'a' || n || '@svc.local', 'viewer' FROM generate_series(1, 499) AS n`,
    [projectId],
  );
  await signedIn(pool, 'known');
  for (const name of ['known', 'unknown']) {
    t.match(await call('PUT', `${path}/${name}@svc.local`, { role: 'viewer' }), {
      status: 422,
      body: { code: 'invalid_value', message: /maximum of 500 members/ },
    });
  }
  t.equal((await call('PUT', `${path}/a7@svc.local`, { role: 'admin' })).status, 200, 'a change of one of them');
});
