import { hash } from 'node:crypto';
import t, { type Test } from 'tap';
import { createAuthenticate } from '../../../functions/sessions/authenticate.ts';
import { createLastUses } from '../../../functions/sessions/last-uses.ts';
import { recordTokenUse } from '../../../runtime/records/access-tokens.ts';
import { createSessionRoutes } from '../../../functions/sessions/handler.ts';
import { createTokenRoutes } from '../../../functions/tokens/handler.ts';
import { createProjectAccess } from '../../../runtime/api/project-access.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { deleteEnvironmentRecords } from '../../../runtime/records/environments.ts';
import { deleteProjectMembers } from '../../../runtime/records/members.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { recordingLog } from '../../support/log.ts';
import { environmentId, seedProject } from '../../support/objects.ts';
import { signedIn } from '../../support/people.ts';
import { testDatabase } from '../../support/postgres.ts';

const path = '/api/v1/projects/shop/tokens';
const dayMs = 24 * 3_600_000;

async function rig(t: Test) {
  const { pool } = await testDatabase(t);
  const clock = fakeClock(new Date());
  const recorded = recordingLog();
  const kube = fakeKube();
  const projectId = newId();
  seedProject(kube, { name: 'shop', id: projectId, environments: ['prod', 'dev'] });
  const tokenUses = createLastUses({ clock, log: recorded.log, record: (...use) => recordTokenUse(pool, ...use) });
  const api = await testApi(t, {
    routes: [
      ...createTokenRoutes({ kube, pool, clock }),
      ...createSessionRoutes({ pool, clock, baseUrl: 'http://console.test' } as never),
    ],
    authenticate: createAuthenticate({ pool, clock, baseUrl: 'http://console.test', tokenUses }),
    authorize: createProjectAccess({ kube, pool }).authorize,
    log: recorded.log,
  });
  const member = (name: string, role: 'viewer' | 'deployer' | 'admin') =>
    signedIn(pool, name, { projects: { [projectId]: role } });
  const people = { viewer: await member('viewer', 'viewer'), deployer: await member('deployer', 'deployer') };
  const create = (body: object, { headers } = people.deployer) => api.call('POST', path, { body, headers });
  return { pool, clock, recorded, projectId, tokenUses, api, member, create, ...people };
}

t.test('a token is shown once, stored as a digest, and listed without its secret', async (t) => {
  const { pool, clock, api, create, deployer, recorded } = await rig(t);
  const body = { name: 'ci', scopes: ['logs:read', 'deploy'], environment: 'prod' };
  const created = await create(body);
  t.equal(created.status, 201);
  t.match(created.body.token, /^svct_[a-z0-9]{8}_[a-z0-9]{46}$/);
  const { token, ...view } = created.body;
  const expiresAt = new Date(clock.now().getTime() + 90 * dayMs).toISOString();
  t.match(view, { name: 'ci', scopes: ['logs:read', 'deploy'], environment: 'prod', status: 'active', expiresAt });
  t.equal(view.createdBy, deployer.email);
  t.ok(String(token).startsWith(`svct_${view.handle}_`));
  for (const at of [path, `${path}/ci`, `${path}/${view.id}`]) {
    const { status, body: shown, text } = await api.call('GET', at, { headers: deployer.headers });
    t.equal(status, 200);
    t.same(shown.items ?? [shown], [view], at);
    t.notMatch(text, String(token).slice(14));
  }
  const { rows } = await pool.query('SELECT * FROM access_tokens');
  t.notMatch(JSON.stringify(rows), String(token).slice(14));
  t.same(rows[0].digest, hash('sha256', String(token), 'buffer'));
  const entry = recorded.entries.find(({ msg }) => msg === 'audit');
  t.match(entry, {
    action: 'token.create',
    actor: deployer.email,
    project: 'shop',
    environment: 'prod',
    accessToken: { id: view.id, name: 'ci', scopes: ['logs:read', 'deploy'] },
  });
  t.notMatch(recorded.text(), String(token).slice(14));
});

t.test('what a token may be is checked', async (t) => {
  const { clock, create, viewer } = await rig(t);
  const scopes = ['read'];
  const later = (ms: number) => new Date(clock.now().getTime() + ms).toISOString();
  for (const [body, status, code] of [
    [{ name: 'CI', scopes }, 422, 'invalid_value'],
    [{ name: 'x'.repeat(31), scopes }, 422, 'invalid_value'],
    [{ name: '019a0000-0000-7000-8000-000000000001', scopes }, 422, 'invalid_value'],
    [{ name: 'ci', scopes: [] }, 400, 'invalid_request'],
    [{ name: 'ci', scopes: ['admin'] }, 400, 'invalid_request'],
    [{ name: 'ci', scopes, environment: 'none' }, 404, 'not_found'],
    [{ name: 'ci', scopes, expiresAt: later(0) }, 422, 'invalid_value'],
    [{ name: 'ci', scopes, expiresAt: later(366 * dayMs + 1) }, 422, 'invalid_value'],
    [{ name: 'ci', scopes, expiresAt: null }, 400, 'invalid_request'],
    [{ name: 'ci', scopes, extra: 1 }, 400, 'invalid_request'],
    [{ name: 'ci', scopes: ['deploy'] }, 403, 'forbidden'],
    [{ name: 'ci', scopes: ['write'] }, 403, 'forbidden'],
  ] as const) {
    const answer = await create(body, viewer);
    t.match(answer, { status, body: { code } }, JSON.stringify(body));
  }
  t.equal((await create({ name: 'ci', scopes: ['read', 'logs:read'] }, viewer)).status, 201, 'a viewer reads');
  t.match((await create({ name: 'ci', scopes })).body, { code: 'already_exists', message: /revoke it/ });
  t.equal((await create({ name: 'longest', scopes, expiresAt: later(366 * dayMs) })).status, 201);
});

t.test('the numbers of valid tokens are limited, also of requests at once', async (t) => {
  const { pool, clock, projectId, create, deployer, member } = await rig(t);
  const answers = await Promise.all(
    Array.from({ length: 24 }, (_, index) => create({ name: `t${index}`, scopes: ['read'] })),
  );
  const statuses = answers.map(({ status }) => status).sort((a, b) => a - b);
  t.same(statuses, [...Array<number>(20).fill(201), ...Array<number>(4).fill(422)]);
  t.match(answers.find(({ status }) => status === 422)?.body, { message: /You have the maximum of 20/ });
  const other = await member('other', 'deployer');
  t.equal((await create({ name: 'other', scopes: ['read'] }, other)).status, 201, 'others have their own');
  await pool.query(
    `INSERT INTO access_tokens (id, project_id, project, name, handle, digest, scopes, user_id, expires_at)
     SELECT gen_random_uuid(), $1, 'shop', 'x' || n, 'h' || n, '', '{read}', $2, $3 FROM generate_series(1, 79) AS n`,
    [projectId, deployer.id, new Date(clock.now().getTime() + dayMs)],
  );
  t.match((await create({ name: 'more', scopes: ['read'] }, other)).body, {
    message: /project has the maximum of 100/,
  });
  await clock.advance(91 * dayMs);
  await pool.query(`UPDATE sessions SET expires_at = $1`, [new Date(clock.now().getTime() + dayMs)]);
  t.equal((await create({ name: 'more', scopes: ['read'] }, other)).status, 201, 'expired ones do not count');
});

t.test('the last use is recorded after the answer, at most once a minute', async (t) => {
  const { pool, clock, api, create, deployer, tokenUses } = await rig(t);
  const { token } = (await create({ name: 'ci', scopes: ['read'] })).body;
  const use = async () => {
    const { status } = await api.call('GET', '/api/v1/session', { headers: { authorization: `Bearer ${token}` } });
    await tokenUses.drain();
    const shown = await api.call('GET', `${path}/ci`, { headers: deployer.headers });
    return [status, shown.body.lastUsedAt];
  };
  t.equal((await api.call('GET', `${path}/ci`, { headers: deployer.headers })).body.lastUsedAt, undefined, 'never');
  const first = clock.now().toISOString();
  t.same(await use(), [200, first]);
  await clock.advance(59_000);
  t.same(await use(), [200, first], 'within the minute');
  await clock.advance(2_000);
  t.same(await use(), [200, clock.now().toISOString()]);
  // Another session holds the row, so that the write cannot finish.
  await clock.advance(61_000);
  const holder = await pool.connect();
  await holder.query('BEGIN; SELECT FROM access_tokens FOR UPDATE');
  const { status } = await api.call('GET', '/api/v1/session', { headers: { authorization: `Bearer ${token}` } });
  t.equal(status, 200, 'a write that waits blocks no request');
  await holder.query('ROLLBACK');
  holder.release();
  await tokenUses.drain();
});

t.test('members revoke their own tokens, admins all; each is audited', async (t) => {
  const { api, create, member, viewer, deployer, recorded } = await rig(t);
  const boss = await member('boss', 'admin');
  await create({ name: 'one', scopes: ['read'] });
  await create({ name: 'two', scopes: ['read'] });
  const revoke = (name: string, { headers } = deployer) => api.call('DELETE', `${path}/${name}`, { headers });
  t.match(await revoke('one', viewer), { status: 403, body: { details: { needs: 'admin', has: 'viewer' } } });
  t.equal((await revoke('one')).status, 204);
  t.equal((await revoke('one')).status, 404);
  t.equal((await revoke('two', boss)).status, 204);
  const entries = recorded.entries.filter(({ action }) => action === 'token.revoke');
  t.match(entries, [
    { actor: deployer.email, accessToken: { name: 'one' } },
    { actor: boss.email, accessToken: { name: 'two' } },
  ]);
  const whole = `svct_abcdefgh_${'x'.repeat(46)}`;
  t.notMatch((await revoke(whole)).text, whole, 'a token that was pasted as a name is not repeated');
});

t.test('whoami says what a token is and what it may do', async (t) => {
  const { pool, api, create, deployer } = await rig(t);
  const { token, expiresAt } = (await create({ name: 'ci', scopes: ['deploy'], environment: 'dev' })).body;
  const whoami = async () =>
    (await api.call('GET', '/api/v1/session', { headers: { authorization: `bearer ${token}` } })).body;
  const limits = { name: 'ci', project: 'shop', environment: 'dev', scopes: ['deploy'], expiresAt };
  const { email } = deployer;
  t.same(await whoami(), { email, role: 'member', token: { ...limits, projectRole: 'deployer' } });
  await pool.query('DELETE FROM project_members WHERE user_id = $1', [deployer.id]);
  t.same(await whoami(), { email, role: 'member', token: limits });
  const cookie = await api.call('GET', '/api/v1/session', {
    headers: { authorization: '', cookie: `svc_session=${token}` },
  });
  t.equal(cookie.status, 401, 'not as a cookie');
});

t.test('tokens end with their environment and their project', async (t) => {
  const { pool, projectId, create } = await rig(t);
  const names = async () =>
    (await pool.query<{ name: string }>('SELECT name FROM access_tokens ORDER BY name')).rows.map(({ name }) => name);
  await create({ name: 'all', scopes: ['read'] });
  await create({ name: 'prod', scopes: ['read'], environment: 'prod' });
  await create({ name: 'dev', scopes: ['read'], environment: 'dev' });
  await deleteEnvironmentRecords(pool, environmentId);
  t.same(await names(), ['all', 'dev']);
  await deleteProjectMembers(pool, projectId);
  t.same(await names(), []);
});
