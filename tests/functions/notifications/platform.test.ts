import t from 'tap';
import { createNotificationRoutes } from '../../../functions/notifications/handler.ts';
import { parseKeyRing } from '../../../runtime/domain/sealed.ts';
import { testApi } from '../../support/api.ts';
import { recordingLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';

const path = '/api/v1/platform/notifications';
const hook = 'https://hooks.example.com/very-secret-path';
const keyRing = parseKeyRing(JSON.stringify({ current: 'k', keys: { k: Buffer.alloc(32, 1).toString('base64') } }));

async function setUp(t: Parameters<typeof testDatabase>[0]) {
  const { pool } = await testDatabase(t);
  const recorded = recordingLog();
  const routes = createNotificationRoutes({
    pool,
    keyRing,
    baseUrl: 'http://console.test',
    readSettings: () => Promise.resolve({}),
  });
  return { routes, recorded, api: await testApi(t, { routes, log: recorded.log }) };
}

t.test(
  'a target of the platform is created, changed, tested, listed and deleted, and audited without its path',
  async (t) => {
    const { api, recorded } = await setUp(t);
    const created = await api.call('POST', path, { body: { name: 'ops', url: hook } });
    t.match(created, { status: 201, body: { events: ['alert.firing', 'alert.resolved'], secret: /^whsec_/ } });
    const { id } = created.body as { id: string };
    t.match(await api.call('GET', path), { status: 200, body: { items: [{ id, url: hook }] } });
    t.match(await api.call('PATCH', `${path}/ops`, { body: { events: ['alert.firing'] } }), {
      status: 200,
      body: { events: ['alert.firing'] },
    });
    const accepted = await api.call('POST', `${path}/ops/test`);
    t.match(accepted, {
      status: 202,
      body: { statusUrl: `http://console.test${path}/${id}/deliveries/${accepted.body.id}` },
    });
    t.match((await api.call('GET', `${path}/ops/deliveries`)).body, { items: [{ type: 'notification.test' }] });
    t.equal((await api.call('POST', `${path}/ops/rotate`)).status, 200);
    await api.call('PATCH', `${path}/ops`, { body: { enabled: false } });
    t.match((await api.call('POST', `${path}/ops/test`)).body, { message: /svc platform notification enable ops/ });
    t.equal((await api.call('DELETE', `${path}/ops`)).status, 204);
    t.match(await api.call('GET', `${path}/ops`), { status: 404, body: { message: /svc platform notification list/ } });
    const audits = recorded.entries.filter(({ msg }) => msg === 'audit').map(({ action }) => action);
    t.same(
      audits,
      ['create', 'update', 'test', 'rotate', 'update', 'delete'].map((verb) => `platform.notification.${verb}`),
    );
    t.notOk(recorded.text().includes('very-secret-path'));
  },
);

t.test('platforms have alerts, projects have deployments', async (t) => {
  const { api } = await setUp(t);
  const bodies: [string, object][] = [
    [path, { events: ['deployment.failed'] }],
    [path, { apps: ['api'] }],
    ['/api/v1/projects/shop/notifications', { events: ['alert.firing'] }],
  ];
  for (const [target, body] of bodies) {
    const answer = await api.call('POST', target, { body: { name: 'x', url: hook, ...body } });
    t.equal(answer.status, 400, JSON.stringify(body));
  }
});

t.test('an admin of a project reaches no target of the platform, by name or id, through any route', async (t) => {
  const { api, routes } = await setUp(t);
  const { id } = (await api.call('POST', path, { body: { name: 'ops', url: hook } })).body as { id: string };
  const platform = routes.filter((route) => route.path.startsWith('/platform/'));
  t.equal(platform.length, routes.length / 2);
  t.same([...new Set(platform.map(({ access }) => access))], ['platform-admin']);
  for (const reference of ['ops', id]) {
    const target = `/api/v1/projects/shop/notifications/${reference}`;
    for (const [method, below, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { url: 'https://evil.example.com/' }],
      ['POST', '/rotate', undefined],
      ['POST', '/test', undefined],
      ['GET', '/deliveries', undefined],
      ['DELETE', '', undefined],
    ] as const) {
      t.equal((await api.call(method, `${target}${below}`, body && { body })).status, 404, `${method} ${below}`);
    }
  }
  t.equal((await api.call('GET', `${path}/ops`)).status, 200);
});
