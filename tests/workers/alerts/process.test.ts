import t, { type Test } from 'tap';
import { createNotificationRoutes } from '../../../functions/notifications/handler.ts';
import { alertNotification } from '../../../runtime/contracts/api/notifications.ts';
import { Problem } from '../../../runtime/domain/problem.ts';
import { alertWatchId } from '../../../runtime/queues/catalogue.ts';
import type { Alert } from '../../../runtime/services/alert-store.ts';
import { createAlertsProcessor } from '../../../workers/alerts/process.ts';
import { createNotificationProcessor } from '../../../workers/notifications/process.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { parseKeyRing } from '../../../runtime/domain/sealed.ts';
import { platformConfigObject, settings } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';
import { attemptOf, notificationWorld, verifies } from '../notifications/notification-world.ts';
import { startReceiver } from '../notifications/receiver.ts';
import { testKeys } from '../rollouts/worker-world.ts';

const startsAt = new Date('2026-01-01T00:00:00Z');
const alert = (name: string, rest: Partial<Alert> = {}): Alert => ({
  fingerprint: name,
  labels: { alertname: name, severity: 'critical', scope: 'platform', queue: 'builds' },
  annotations: { summary: `${name} fires`, description: 'do this', line: 'a\u0000b' },
  startsAt,
  silenced: false,
  ...rest,
});

async function world(t: Test) {
  const { pool } = await testDatabase(t);
  const clock = fakeClock();
  let listed: Alert[] | Error = [];
  const alerts = {
    list: () => (listed instanceof Error ? Promise.reject(listed) : Promise.resolve(listed)),
    silences: () => Promise.resolve([]),
    silence: () => Promise.resolve(''),
    unsilence: () => Promise.resolve(false),
  };
  const process = createAlertsProcessor({ pool, clock, alerts });
  const keyRing = parseKeyRing(testKeys);
  const routes = createNotificationRoutes({
    pool,
    keyRing,
    baseUrl: 'http://console.test',
    readSettings: () => Promise.resolve({ notificationNetworks: ['127.0.0.1'] }),
  });
  const api = await testApi(t, { routes });
  const kube = fakeKube();
  kube.seed({ ...platformConfigObject, spec: { ...settings, notificationNetworks: ['127.0.0.1'] } });
  const deliver = createNotificationProcessor({ pool, kube, keyRing, clock, failpoint: () => undefined });
  const records = await notificationWorld(pool, testKeys);
  return {
    pool,
    ...records,
    /** Reads the alerts once. */
    read: (next: Alert[] | Error) => {
      listed = next;
      return process(attemptOf(alertWatchId));
    },
    /** Lets an alert be missing for long enough. */
    wait: () => pool.query(`UPDATE alert_episodes SET missing_since = missing_since - interval '121 seconds'`),
    create: async (name: string, url: string, events?: string[]) => {
      const body = { name, url, ...(events && { events }) };
      const created = await api.call('POST', '/api/v1/platform/notifications', { body });
      t.equal(created.status, 201, created.text);
      return created.body as { id: string; secret: string };
    },
    sent: async () => (await records.deliveries()).map(({ type }) => type),
    deliverAll: async () => {
      for (const { id, state } of await records.deliveries()) if (state === 'pending') await deliver(attemptOf(id));
    },
  };
}

t.test('an alert is sent once when it begins and once when it ends, signed, in the documented shape', async (t) => {
  const { create, read, wait, sent, deliverAll } = await world(t);
  const receiver = await startReceiver(t);
  const { secret } = await create('ops', receiver.url);
  t.same(await read([]), { again: new Date('2026-01-01T00:00:30Z') });
  t.same(await sent(), []);
  for (let round = 0; round < 3; round++) await read([alert('SvcQueueOld')]);
  t.same(await sent(), ['alert.firing']);
  await read([]);
  await read([alert('SvcQueueOld')]);
  await wait();
  await read([alert('SvcQueueOld', { annotations: { summary: 'another text' } })]);
  t.same(await sent(), ['alert.firing'], 'an Alertmanager that has just started has forgotten its alerts');
  await read([]);
  await wait();
  await read([]);
  await read([]);
  t.same(await sent(), ['alert.firing', 'alert.resolved']);
  await read([alert('SvcQueueOld')]);
  t.same(await sent(), ['alert.firing', 'alert.resolved', 'alert.firing'], 'it begins again');

  await deliverAll();
  t.ok(receiver.received.every((message) => verifies(secret, message)));
  const [firing, resolved] = receiver.received.map(({ body }) => alertNotification.parse(JSON.parse(body)));
  t.same(firing, {
    type: 'alert.firing',
    timestamp: startsAt.toISOString(),
    data: {
      alert: 'SvcQueueOld',
      severity: 'critical',
      scope: 'platform',
      summary: 'SvcQueueOld fires',
      description: 'do this',
      labels: { queue: 'builds' },
      details: { line: 'ab' },
      startsAt: startsAt.toISOString(),
    },
  });
  t.match(resolved, { type: 'alert.resolved', data: { alert: 'SvcQueueOld', endsAt: String } });
});

t.test('a silenced alert is not sent, and one that is silenced later ends as others', async (t) => {
  const { create, read, wait, sent } = await world(t);
  await create('ops', 'http://127.0.0.1:1/');
  await read([alert('A', { silenced: true })]);
  t.same(await sent(), []);
  await read([alert('A')]);
  await read([alert('A', { silenced: true })]);
  await wait();
  await read([alert('A', { silenced: true })]);
  t.same(await sent(), ['alert.firing']);
  await read([]);
  await wait();
  await read([]);
  t.same(await sent(), ['alert.firing', 'alert.resolved']);
});

t.test(
  'targets get what they subscribe to; targets of projects get no alerts, and those of the platform no deployments',
  async (t) => {
    const { pool, create, read, target, fail, deliveries } = await world(t);
    const ops = await create('ops', 'http://127.0.0.1:1/');
    await create('ends', 'http://127.0.0.1:1/', ['alert.resolved']);
    const project = await target('http://127.0.0.1:1/');
    await read([alert('A'), alert('B')]);
    await fail();
    const { rows } = await pool.query<{ target: string; type: string }>(
      'SELECT target_id AS target, type FROM notification_deliveries',
    );
    t.same(rows, [
      { target: ops.id, type: 'alert.firing' },
      { target: ops.id, type: 'alert.firing' },
      { target: project.id, type: 'deployment.failed' },
    ]);
    t.equal((await deliveries()).length, 3);
  },
);

t.test('while alerts cannot be read, nothing begins or ends, and the row is due again', async (t) => {
  const { create, read, wait, sent } = await world(t);
  await create('ops', 'http://127.0.0.1:1/');
  await read([alert('A')]);
  for (let round = 0; round < 3; round++) {
    t.match(await read(new Problem('alerts_unavailable', 'down')), { again: Date });
    await wait();
  }
  await read([alert('A')]);
  t.same(await sent(), ['alert.firing']);
});

t.test(
  'many alerts of workloads crowd out none of the platform, and two reads at once send nothing twice',
  async (t) => {
    const { pool, create, read, sent } = await world(t);
    await create('ops', 'http://127.0.0.1:1/');
    const flood = Array.from({ length: 700 }, (_, at) =>
      alert(`W${at}`, { labels: { alertname: 'ReadOnlyFilesystem', scope: 'workload' } }),
    );
    await Promise.all([read([...flood, alert('SvcQueueOld')]), read([...flood, alert('SvcQueueOld')])]);
    const { rows } = await pool.query<{ total: number; platform: number }>(
      `SELECT count(*)::integer AS total, (count(*) FILTER (WHERE alert->>'scope' = 'platform'))::integer AS platform
     FROM alert_episodes`,
    );
    t.same(rows, [{ total: 500, platform: 1 }]);
    t.equal((await sent()).length, 500);
  },
);
