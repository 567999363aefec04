import t from 'tap';
import { auditActions } from '../../../runtime/domain/audit.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { createAuditRecorder, insertAuditEntry } from '../../../runtime/records/audit-entries.ts';
import { accessToken } from '../../support/access-tokens.ts';
import { fakeClock } from '../../support/clock.ts';
import { declaredRoutes } from '../all-routes.ts';
import { auditedRoute, auditRig, shop } from './rig.ts';

const members = `${shop}/members`;

t.test('a change is stored when its response arrives, with the fields of the log line', async (t) => {
  const { call, entries, recorded, boss, projectId, stored } = await auditRig(t);
  const path = `${members}/dana@svc.local`;
  const { headers } = await call('PUT', path, boss, { role: 'viewer' });
  const line = recorded.entries.find(({ msg }) => msg === 'audit') ?? {};
  t.match(line, { action: 'member.set', actor: boss.email, projectId, requestId: headers.get('x-request-id') });
  const [row, ...others] = await stored();
  t.same(others, []);
  t.match(row, { action: line['action'], actor: boss.email, project: 'shop', project_id: projectId, token: null });
  const [shown] = await entries();
  t.match(shown, {
    id: row?.['id'],
    at: /Z$/,
    action: 'member.set',
    actor: boss.email,
    project: 'shop',
    object: { kind: 'user', name: 'dana@svc.local' },
    requestId: line['requestId'],
    details: { user: { email: 'dana@svc.local' }, changes: { before: null, after: 'viewer' } },
  });
  t.same(Object.keys(Object(shown?.['details'])).sort(), ['changes', 'user'], 'nothing twice');
  await call('PUT', path, boss, { role: 'viewer' });
  t.equal((await call('PUT', `${members}/nobody`, boss, { role: 'viewer' })).status, 422);
  t.equal((await call('DELETE', `${members}/missing@svc.local`)).status, 404);
  t.equal((await stored()).length, 1, 'neither what changes nothing nor what is refused');
});

t.test('the response waits for the entry', async (t) => {
  const [begun, stored] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const recordAudit = () => {
    begun.resolve();
    return stored.promise;
  };
  const { call } = await auditRig(t, { routes: [auditedRoute('POST')], recordAudit });
  let isAnswered = false;
  const answer = call('POST', `${shop}/apps/api/change`).finally(() => (isAnswered = true));
  await begun.promise;
  t.equal((await call('GET', `${shop}/audit`)).status, 200, 'a later request');
  t.notOk(isAnswered);
  stored.resolve();
  t.equal((await answer).status, 204);
});

t.test('an entry of an access token has its user and its name', async (t) => {
  const { pool, call, entries, boss, projectId } = await auditRig(t, { routes: [auditedRoute('POST')] });
  const token = await accessToken(pool, boss, { projectId, scopes: ['write'] });
  await call('POST', `${shop}/apps/api/change`, { ...boss, headers: token.headers });
  const [entry] = await entries();
  t.match(entry, { actor: boss.email, token: { id: token.id, name: token.name }, environment: 'prod' });
  t.match(entry, { object: { kind: 'app', name: 'api' }, details: {} });
  t.equal((await entries(`${shop}/audit?actor=BOSS@svc.local`)).length, 1);
});

t.test('the list has pages and filters', async (t) => {
  const { pool, call, entries, boss, root, projectId, otherId } = await auditRig(t);
  // Ids of the same millisecond are in no order.
  const ids = Array.from({ length: 6 }, newId).sort();
  const add = (action: (typeof auditActions)[number], fields: Record<string, unknown>, actor = boss.email) =>
    insertAuditEntry(pool, { line: { action, actor, ...fields } }, ids.shift());
  const place = { project: 'shop', projectId, environment: 'prod' };
  await add('app.create', { ...place, app: 'api' });
  await add('app.update', { ...place, app: 'web', environment: 'dev' });
  await add('key.create', { ...place, apiKey: { id: newId(), handle: 'abcd1234', name: 'mobile' } });
  await add('image.delete', { ...place, app: 'web' }, 'svc');
  await add('app.create', { ...place, project: 'blog', projectId: otherId, app: 'api' });
  await add('platform.config.update', { change: { profile: 'small' } }, root.email);
  const actions = async (query: string, path = `${shop}/audit`, person = boss) =>
    (await entries(`${path}?${query}`, person)).map(({ action }) => action);
  t.same(await actions(''), ['image.delete', 'key.create', 'app.update', 'app.create'], 'newest first, of its project');
  t.same(await actions('action=app.'), ['app.update', 'app.create']);
  t.same(await actions('action=app'), ['app.update', 'app.create']);
  t.same(await actions('action=key.create'), ['key.create']);
  t.same(await actions('actor=svc'), ['image.delete']);
  t.same(await actions('environment=dev'), ['app.update']);
  t.same(await actions('object=abcd1234'), ['key.create']);
  t.same(await actions('object=web&action=app.&environment=dev'), ['app.update']);
  const at = (minutes: number) => encodeURIComponent(new Date(Date.now() + minutes * 60_000).toISOString());
  t.equal((await actions(`since=${at(-1)}&until=${at(1)}`)).length, 4);
  t.same(await actions(`since=${at(1)}`), []);
  t.same(await actions(`until=${at(-1)}`), []);

  const first = (await call('GET', `${shop}/audit?limit=3`)).body;
  t.equal(first.items.length, 3);
  const second = (await call('GET', `${shop}/audit?limit=3&cursor=${first.nextCursor}`)).body;
  t.match(second, { items: [{ action: 'app.create' }], nextCursor: undefined });

  const all = await actions('', '/api/v1/platform/audit', root);
  t.same(all.slice(0, 2), ['platform.config.update', 'app.create']);
  t.equal(all.length, 6);
  t.same(await actions('project=blog', '/api/v1/platform/audit', root), ['app.create']);
  for (const query of ['action=%25', 'action=App', 'since=yesterday', 'cursor=x', 'limit=501', 'user=x', 'object=']) {
    t.equal((await call('GET', `${shop}/audit?${query}`)).status, 400, query);
  }
  t.equal((await call('GET', `${shop}/audit?since=0001-01-01T00:00:00Z&until=9999-12-31T23:59:59Z`)).status, 200);
});

t.test('what the database cannot store: a change stays, and an access is refused', async (t) => {
  const failure = new Error('no connection');
  const recordAudit = () => Promise.reject(failure);
  const routes = [auditedRoute('POST'), auditedRoute('GET')];
  const { call, recorded, stored } = await auditRig(t, { routes, recordAudit });
  const changed = await call('POST', `${shop}/apps/api/change`);
  t.equal(changed.status, 204, 'an error would say that nothing was changed');
  const requestId = changed.headers.get('x-request-id');
  t.match(
    recorded.entries.filter((entry) => entry['requestId'] === requestId && entry['msg'] !== 'request'),
    [
      { msg: 'audit', action: 'app.update', app: 'api' },
      { msg: 'audit entry not stored', level: 50, action: 'app.update', err: { message: failure.message } },
    ],
    'the log still has it',
  );
  const refused = await call('GET', `${shop}/apps/api/change`);
  t.match(refused, { status: 503, body: { code: 'unavailable', message: /cannot be recorded in the audit log/ } });
  t.same(await stored(), []);
});

t.test('the recorder tries again, and stores an entry once', async (t) => {
  const { pool, stored } = await auditRig(t);
  const clock = fakeClock();
  const line = { action: 'app.update', actor: 'a@svc.local', app: 'api' } as const;
  let attempts = 0;
  // The first attempt stores the entry, and its connection breaks before that is confirmed.
  const query = async (...parameters: [string, unknown[]]) => {
    attempts += 1;
    if (attempts === 2) throw new Error('connection lost');
    const result = await pool.query(...parameters);
    if (attempts === 1) throw new Error('connection lost');
    return result;
  };
  const record = createAuditRecorder({ pool: { query } as never, clock });
  const recorded = record({ line });
  while ((await stored()).length === 0) await new Promise((resolve) => setImmediate(resolve));
  const advance = async () => {
    while (clock.sleepers() === 0) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(500);
  };
  await advance();
  await advance();
  await recorded;
  t.equal((await stored()).length, 1);

  const never = createAuditRecorder({
    pool: { query: () => Promise.reject(new Error('connection lost')) } as never,
    clock,
  });
  const refused = t.rejects(never({ line }), /connection lost/);
  await advance();
  await advance();
  await refused;
  t.equal((await stored()).length, 1);
});

t.test('every action that a route declares is known, and every change of a user is audited', async (t) => {
  const { routes } = await declaredRoutes();
  const declared = routes.flatMap(({ audit }) => audit ?? []);
  t.same(
    declared.filter((action) => !auditActions.includes(action)),
    [],
  );
  const silent = routes.flatMap(({ method, path, audit, access }) =>
    method === 'GET' || audit !== undefined || access === 'public' || access === 'webhook' ? [] : [`${method} ${path}`],
  );
  t.same(
    silent.sort(),
    [
      'DELETE /projects/:project/assistant/conversations/:conversation',
      'DELETE /session',
      'POST /projects/:project/assistant/conversations',
      'POST /projects/:project/sources/chunks',
      'POST /projects/:project/sources/missing',
    ],
    'signing out, conversations that only their user sees, and content that no app has yet',
  );
});
