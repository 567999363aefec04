import t, { type Test } from 'tap';
import { createNotificationRoutes } from '../../../functions/notifications/handler.ts';
import { transaction } from '../../../runtime/db/pool.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { notificationSecretContext } from '../../../runtime/domain/notification.ts';
import { parseKeyRing, unseal } from '../../../runtime/domain/sealed.ts';
import { acceptDeployment } from '../../../runtime/records/acceptance.ts';
import { endDeployment } from '../../../runtime/records/deployments.ts';
import { deleteProjectNotifications } from '../../../runtime/records/notifications.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { testApi } from '../../support/api.ts';
import { recordingLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';

const path = '/api/v1/projects/shop/notifications';
const hook = 'https://hooks.example.com/very-secret-path';
const keyRing = parseKeyRing(JSON.stringify({ current: 'k', keys: { k: Buffer.alloc(32, 1).toString('base64') } }));

async function rig(t: Test, networks: string[] = []) {
  const { pool } = await testDatabase(t);
  const log = recordingLog();
  const routes = createNotificationRoutes({
    pool,
    keyRing,
    baseUrl: 'http://console.test',
    readSettings: async () => ({ notificationNetworks: networks }),
  });
  const app = {
    id: newId(),
    kind: 'App' as const,
    environmentId: newId(),
    project: 'shop',
    environment: 'prod',
    namespace: 'shop-prod',
    name: 'api',
    gated: false,
  };
  await projectWorkload(pool, app);
  const api = await testApi(t, { routes, log: log.log });
  return {
    pool,
    log,
    call: (...request: Parameters<typeof api.call>) => api.call(...request),
    fail: async () => {
      const request = { workloadId: app.id, trigger: 'manual', image: 'r/api:1' } as const;
      const { id } = await transaction(pool, (client) => acceptDeployment(client, request));
      await endDeployment(pool, id, 'failed', 'no');
      return id;
    },
  };
}

t.test('201: a target is created, its secret shown once and encrypted', async (t) => {
  const { pool, call, log } = await rig(t);
  const created = await call('POST', path, { body: { name: 'ops', url: `${hook}#part` } });
  t.equal(created.status, 201, created.text);
  t.match(created.body, { name: 'ops', url: hook, enabled: true, secret: /^whsec_[A-Za-z0-9+/]{43}=$/ });
  t.same(created.body.events, [
    'deployment.succeeded',
    'deployment.failed',
    'deployment.superseded',
    'deployment.cancelled',
  ]);
  t.notOk('apps' in created.body || 'environments' in created.body, 'all of them');
  const { id, secret } = created.body as { id: string; secret: string };
  const { rows } = await pool.query<{ secret: string }>('SELECT secret FROM notification_targets');
  t.equal(unseal(keyRing, notificationSecretContext(id), rows[0]?.secret ?? ''), secret);
  for (const reference of ['ops', id]) {
    const view = await call('GET', `${path}/${reference}`);
    t.match(view, { status: 200, body: { id, name: 'ops' } });
    t.notOk('secret' in view.body);
  }
  t.match(await call('GET', path), { status: 200, body: { items: [{ id }] } });
  const rotated = await call('POST', `${path}/ops/rotate`);
  t.match(rotated, { status: 200, body: { id, secret: /^whsec_/ } });
  t.not(rotated.body.secret, secret);
  t.match(
    log.entries.filter(({ msg }) => msg === 'audit'),
    [
      {
        action: 'notification.create',
        actor: 'admin@svc.local',
        notification: { origin: 'https://hooks.example.com' },
      },
      { action: 'notification.rotate' },
    ],
  );
  t.notMatch(log.text(), /whsec_|very-secret-path/);
});

t.test('4xx: forbidden addresses, duplicate names, and missing targets', async (t) => {
  const { call } = await rig(t);
  const create = (url: string, name = 'ops') => call('POST', path, { body: { name, url } });
  const closed = [
    'http://127.0.0.1/x',
    'https://10.1.2.3',
    'http://[::1]:8080/',
    'http://2130706433/',
    'http://[::ffff:a00:1]',
  ];
  for (const url of closed) {
    t.match(
      await create(url),
      { status: 422, body: { code: 'invalid_value', message: /--notification-network/ } },
      url,
    );
  }
  for (const url of ['ftp://example.com', 'example.com', '', 'https://user:pass@example.com/']) {
    t.match(await create(url), { status: 422, body: { code: 'invalid_value', details: { field: 'url' } } }, url);
  }
  t.match(await create(hook, 'No Name'), { status: 400 });
  t.match(await call('POST', path, { body: { name: 'ops', url: hook, events: ['deployment.skipped'] } }), {
    status: 400,
  });
  t.match(await create(hook), { status: 201 });
  t.match(await create(hook), { status: 409, body: { code: 'already_exists' } });
  t.match(await call('GET', `${path}/nothing`), { status: 404, body: { message: /svc notification list/ } });
  t.match(await call('GET', `${path}/${newId()}`), { status: 404 });
  t.match(await call('PATCH', `${path}/ops`, { body: {} }), { status: 400 });
  t.match(await call('PATCH', `${path}/ops`, { body: { url: 'http://192.168.0.1' } }), { status: 422 });
  for (let index = 1; index < 20; index++) t.match(await create(hook, `n${index}`), { status: 201 });
  t.match(await create(hook, 'one-too-many'), { status: 409, body: { code: 'conflict' } });
});

t.test('addresses that the platform admin opened are allowed', async (t) => {
  const { call } = await rig(t, ['127.0.0.0/8']);
  t.match(await call('POST', path, { body: { name: 'ops', url: 'http://127.0.0.1:9/x' } }), { status: 201 });
  t.match(await call('POST', path, { body: { name: 'more', url: 'http://10.0.0.1:9/x' } }), { status: 422 });
});

t.test('filters and the switch can change, and apply to the next event', async (t) => {
  const { call, fail } = await rig(t);
  const body = { name: 'ops', url: hook, events: ['deployment.failed'], apps: ['web'], environments: ['prod'] };
  t.match(await call('POST', path, { body }), { status: 201, body: { apps: ['web'], environments: ['prod'] } });
  const count = async () => (await call('GET', `${path}/ops/deliveries`)).body.items.length as number;
  await fail();
  t.equal(await count(), 0);
  const changed = await call('PATCH', `${path}/ops`, { body: { apps: null, environments: ['prod', 'prod'] } });
  t.same([changed.body.apps, changed.body.environments], [undefined, ['prod']]);
  await fail();
  t.equal(await count(), 1);
  t.match(await call('PATCH', `${path}/ops`, { body: { enabled: false } }), { body: { enabled: false } });
  await fail();
  t.equal(await count(), 1);
  t.match(await call('POST', `${path}/ops/test`), { status: 409, body: { message: /svc notification enable ops/ } });
  t.match(await call('PATCH', `${path}/ops`, { body: { enabled: true, name: 'all' } }), { body: { name: 'all' } });
  t.match(await call('DELETE', `${path}/all`), { status: 204 });
  t.match(await call('GET', `${path}/all`), { status: 404 });
});

t.test('deliveries are listed with answers, shown with attempts, and sent again', async (t) => {
  const { pool, call, fail } = await rig(t);
  await call('POST', path, { body: { name: 'ops', url: hook } });
  const [first, second] = [await fail(), await fail()];
  const tested = await call('POST', `${path}/ops/test`);
  t.match(tested, { status: 202, body: { status: 'pending', statusUrl: /\/notifications\/.*\/deliveries\// } });
  const page = await call('GET', `${path}/ops/deliveries?limit=2`);
  t.match(page.body.items, [
    {
      id: tested.body.id,
      webhookId: `msg_${tested.body.id}`,
      type: 'notification.test',
      status: 'pending',
      attempts: 0,
    },
    { type: 'deployment.failed', deploymentId: second, app: 'api', environment: 'prod', revision: 2 },
  ]);
  t.match(page.body.items[0], { nextAttemptAt: /Z$/ });
  const rest = await call('GET', `${path}/ops/deliveries?cursor=${page.body.nextCursor}`);
  t.match(rest.body.items, [{ deploymentId: first }]);
  t.equal(rest.body.items.length, 1);

  const one = `${path}/ops/deliveries/${rest.body.items[0].id}`;
  for (const status of [500, 503]) {
    await pool.query(
      `INSERT INTO notification_attempts (delivery_id, duration_ms, status, error) VALUES ($1, 7, $2, 'it answered ' || $2::integer)`,
      [rest.body.items[0].id, status],
    );
  }
  await pool.query(`UPDATE notification_deliveries SET state = 'failed', ended_at = now()`);
  await pool.query(`UPDATE work SET state = 'done', done_at = now()`);
  t.match((await call('GET', one)).body, {
    status: 'failed',
    attempts: 2,
    lastAttempt: { status: 503, error: 'it answered 503', durationMs: 7 },
    history: [{ status: 503 }, { status: 500 }],
  });
  t.notOk('nextAttemptAt' in (await call('GET', one)).body);
  t.match(await call('POST', `${one}/redeliver`), { status: 202, body: { id: rest.body.items[0].id } });
  t.match((await call('GET', one)).body, { status: 'pending', attempts: 2, nextAttemptAt: /Z$/ });
  const { rows } = await pool.query(
    `SELECT kind, due_at <= now() AS due FROM work WHERE state = 'pending' AND kind = 'notifications'`,
  );
  t.same(rows, [{ kind: 'notifications', due: true }]);
  t.match(await call('POST', `${path}/ops/deliveries/${newId()}/redeliver`), { status: 404 });
  t.match(await call('GET', `${path}/ops/deliveries/x`), { status: 404, body: { code: 'not_found' } });
});

t.test('429: a target gets ten test messages in a minute, and another one its own', async (t) => {
  const { pool, call } = await rig(t);
  for (const name of ['ops', 'other']) await call('POST', path, { body: { name, url: hook } });
  const test = async (name: string) => (await call('POST', `${path}/${name}/test`)).status;
  for (let count = 0; count < 10; count++) t.equal(await test('ops'), 202);
  t.match(await call('POST', `${path}/ops/test`), { status: 429, body: { code: 'too_many_requests' } });
  t.equal(await test('other'), 202);
  const { rows } = await pool.query(`SELECT count(*)::integer AS work FROM work WHERE kind = 'notifications'`);
  t.match(rows, [{ work: 11 }], 'a refused one leaves nothing');
  await pool.query(`UPDATE notification_deliveries SET created_at = created_at - interval '1 minute'`);
  t.equal(await test('ops'), 202);
});

t.test('a deleted project gets no messages, and one of the same name inherits nothing', async (t) => {
  const { pool, call } = await rig(t);
  await call('POST', path, { body: { name: 'ops', url: hook } });
  await deleteProjectNotifications(pool, newId());
  t.equal((await call('GET', path)).body.items.length, 1);
  await deleteProjectNotifications(pool, '019a0000-0000-7000-8000-000000000003');
  t.same((await call('GET', path)).body.items, []);
});
