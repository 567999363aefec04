import t from 'tap';
import { createMemberRoutes } from '../../../functions/members/handler.ts';
import { createAuthenticate } from '../../../functions/sessions/authenticate.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { createProjectAccess } from '../../../runtime/api/project-access.ts';
import { testApi } from '../../support/api.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { recordingLog } from '../../support/log.ts';
import { readyProject } from '../../support/objects.ts';
import { signedIn } from '../../support/people.ts';
import { testDatabase } from '../../support/postgres.ts';

const path = '/api/v1/projects/shop/members';

async function service(t: { teardown(end: () => unknown): void }) {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  const projectId = newId();
  for (const [name, id] of [
    ['shop', projectId],
    ['blog', newId()],
  ] as const) {
    const [project] = readyProject(name);
    if (project) kube.seed({ ...project, metadata: { ...project.metadata, labels: { 'platform.svc/id': id } } });
  }
  const recorded = recordingLog();
  const api = await testApi(t, {
    log: recorded.log,
    routes: createMemberRoutes({ pool }),
    authenticate: createAuthenticate({ pool, clock: systemClock, baseUrl: 'http://console.test' }),
    authorize: createProjectAccess({ kube, pool }).authorize,
  });
  const boss = await signedIn(pool, 'boss', { projects: { [projectId]: 'admin' } });
  const call = (method: string, at: string, body?: unknown, headers: Record<string, string> = boss.headers) =>
    api.call(method, at, { headers, ...(body !== undefined && { body }) });
  return { pool, kube, projectId, recorded, boss, call };
}

t.test('members are added, changed, listed in pages and removed; each change is in the audit', async (t) => {
  const { pool, boss, call, recorded } = await service(t);
  const [dana, eve] = [await signedIn(pool, 'dana'), await signedIn(pool, 'eve')];
  t.equal((await call('GET', path, undefined, dana.headers)).status, 404);
  const added = await call('PUT', `${path}/Dana@svc.local`, { role: 'viewer' });
  t.equal(added.status, 200);
  t.match(added.body, { email: dana.email, role: 'viewer', since: /Z$/, disabled: undefined });
  t.equal((await call('GET', path, undefined, dana.headers)).status, 200, 'from the next request on');
  await call('PUT', `${path}/${dana.id}`, { role: 'deployer' });
  await call('PUT', `${path}/${dana.id}`, { role: 'deployer' });
  await call('PUT', `${path}/eve@svc.local`, { role: 'admin' });
  await pool.query('UPDATE users SET disabled_at = now() WHERE id = $1', [eve.id]);
  const first = (await call('GET', `${path}?limit=2`)).body;
  t.match(first.items, [
    { email: boss.email, role: 'admin' },
    { email: dana.email, role: 'deployer' },
  ]);
  t.match((await call('GET', `${path}?limit=2&cursor=${first.nextCursor}`)).body, {
    items: [{ email: eve.email, role: 'admin' }],
    nextCursor: undefined,
  });
  const platform = await signedIn(pool, 'platform', { role: 'admin' });
  t.match(
    (await call('GET', path, undefined, platform.headers)).body.items.at(-1),
    { userId: eve.id, disabled: true },
    'platform admins see accounts',
  );
  t.equal((await call('DELETE', `${path}/dana@svc.local`)).status, 204);
  t.equal((await call('DELETE', `${path}/dana@svc.local`)).status, 404);
  t.equal((await call('GET', path, undefined, dana.headers)).status, 404);
  t.equal((await call('PUT', `${path}/nobody`, { role: 'viewer' })).status, 422);
  t.equal((await call('PUT', `${path}/${newId()}`, { role: 'viewer' })).status, 404);
  t.equal((await call('PUT', `${path}/dana@svc.local`, { role: 'owner' })).status, 400);
  const audit = recorded.entries.filter(({ msg }) => msg === 'audit');
  t.match(audit, [
    { action: 'member.set', actor: boss.email, project: 'shop', changes: { before: null, after: 'viewer' } },
    { action: 'member.set', user: { email: dana.email }, changes: { before: 'viewer', after: 'deployer' } },
    { action: 'member.set', user: { email: eve.email } },
    { action: 'member.remove', changes: { before: 'deployer', after: null } },
  ]);
  t.equal(audit.length, 4, 'no entry without a change');
});

t.test('409: a request that replaces a certain role keeps what another admin made of it', async (t) => {
  const { pool, call, recorded } = await service(t);
  await signedIn(pool, 'dana');
  const refused = { status: 409, body: { code: 'conflict', message: /svc member list/ } };
  const role = async (email: string): Promise<string | undefined> => {
    const { items } = (await call('GET', path)).body as { items: { email: string; role: string }[] };
    return items.find((member) => member.email === email)?.role;
  };
  // With and without an account, so that an answer does not tell whether there is one.
  for (const email of ['dana@svc.local', 'guest@svc.local']) {
    const set = (body: object) => call('PUT', `${path}/${email}`, body);
    t.match(await set({ role: 'admin', replaces: 'viewer' }), refused, 'there is no role');
    t.equal(await role(email), undefined);
    const added = await Promise.all(['viewer', 'deployer'].map((each) => set({ role: each, replaces: 'none' })));
    t.same(added.map(({ status }) => String(status)).sort(), ['200', '409'], 'one of two requests adds the member');
    await set({ role: 'admin' });
    t.match(await set({ role: 'viewer', replaces: 'none' }), refused);
    t.match(await set({ role: 'deployer', replaces: 'viewer' }), refused, 'another admin changed the role');
    t.equal(await role(email), 'admin');
    t.match(await set({ role: 'deployer', replaces: 'admin' }), { status: 200, body: { email, role: 'deployer' } });
    t.equal((await call('DELETE', `${path}/${email}`)).status, 204);
    t.match(await set({ role: 'admin', replaces: 'deployer' }), refused, 'another admin removed the member');
    t.equal(await role(email), undefined);
    t.match(await set({ role: 'viewer', replaces: 'owner' }), { status: 400 });
  }
  const audit = recorded.entries.filter(({ msg }) => msg === 'audit');
  t.equal(audit.length, 2 * 4, 'no entry for a refusal');
});

t.test('the last admin of a project stays, even under concurrent changes', async (t) => {
  const { pool, projectId, boss, call } = await service(t);
  const platform = await signedIn(pool, 'platform', { role: 'admin' });
  const as = (method: string, email: string, body?: unknown) =>
    call(method, `${path}/${email}`, body, platform.headers);
  const refused = { status: 409, body: { code: 'last_admin' } };
  t.match(await as('DELETE', boss.email), refused);
  t.match(await as('PUT', boss.email, { role: 'deployer' }), refused);
  t.equal((await as('PUT', boss.email, { role: 'admin' })).status, 200);
  const disabledUser = await signedIn(pool, 'gone', { projects: { [projectId]: 'admin' } });
  await pool.query('UPDATE users SET disabled_at = now() WHERE id = $1', [disabledUser.id]);
  t.match(await as('DELETE', boss.email), refused, 'a disabled admin does not count');
  t.equal((await as('DELETE', disabledUser.email)).status, 204);
  for (let round = 0; round < 5; round++) {
    await signedIn(pool, `other-${round}`, { projects: { [projectId]: 'admin' } });
    const answers = await Promise.all([
      as('DELETE', `other-${round}@svc.local`),
      as('PUT', boss.email, { role: 'viewer' }),
    ]);
    t.same(answers.map(({ status }) => `${Math.trunc(status / 100)}xx`).sort(), ['2xx', '4xx']);
    await as('PUT', boss.email, { role: 'admin' });
    await as('DELETE', `other-${round}@svc.local`);
  }
});

t.test('an admin of one project has no role in another', async (t) => {
  const { call } = await service(t);
  t.equal((await call('GET', '/api/v1/projects/blog/members')).status, 404);
  t.equal((await call('PUT', '/api/v1/projects/blog/members/boss@svc.local', { role: 'admin' })).status, 404);
});
