import t from 'tap';
import { createAlertRoutes } from '../../../functions/alerts/handler.ts';
import { createAlertStore, type AlertServers } from '../../../runtime/services/alert-store.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { recordingLog } from '../../support/log.ts';
import { alertOf, fakeServer } from './alertmanager.ts';

const path = '/api/v1/platform/alerts';

async function setUp(t: Parameters<typeof testApi>[0], servers: AlertServers) {
  const recorded = recordingLog();
  const { log } = recorded;
  const routes = createAlertRoutes({ alerts: createAlertStore(servers), clock: fakeClock() });
  return { entries: () => recorded.entries, api: await testApi(t, { routes, log }) };
}

t.test('the alerts of the platform come first, then those of workloads, then silenced ones', async (t) => {
  const annotations = { summary: 'App api crashed', description: 'do this', line: 'Read-only file system' };
  const critical = { severity: 'critical', scope: 'platform' };
  const warning = { severity: 'warning', scope: 'platform' };
  const workload = { severity: 'warning', scope: 'workload' };
  const { url } = await fakeServer(t, ({ path: target }) =>
    target === '/api/v2/alerts'
      ? {
          body: [
            alertOf({ alertname: 'SvcNodeNotReady', ...critical, name: 'n1' }, { state: 'suppressed' }),
            alertOf({ alertname: 'ReadOnlyFilesystem', ...workload, namespace: 'shop-prod' }, { annotations }),
            alertOf({ alertname: 'Mine' }, { startsAt: '2026-10-01T00:00:00Z' }),
            alertOf({ alertname: 'SvcQueueOld', ...warning, queue: 'builds' }),
            alertOf({ alertname: 'SvcGateStale', ...critical }),
          ],
        }
      : undefined,
  );
  const { api } = await setUp(t, { alertmanager: url });
  const { status, body } = await api.call('GET', path);
  t.equal(status, 200);
  t.same(
    body.items.map(({ name }: { name: string }) => name),
    ['SvcGateStale', 'Mine', 'SvcQueueOld', 'ReadOnlyFilesystem', 'SvcNodeNotReady'],
  );
  t.same(body.items[3], {
    id: 'ReadOnlyFilesystem-warning-workload-shop-prod',
    name: 'ReadOnlyFilesystem',
    severity: 'warning',
    scope: 'workload',
    state: 'firing',
    summary: 'App api crashed',
    description: 'do this',
    labels: { namespace: 'shop-prod' },
    details: { line: 'Read-only file system' },
    startsAt: '2026-11-01T12:00:00.123Z',
  });
  t.match(body.items[4], { state: 'silenced', summary: 'SvcNodeNotReady' });
  t.equal(body.truncated, false);
});

t.test('a flood of workload alerts hides no alert of the platform', async (t) => {
  const flood = Array.from({ length: 1500 }, (_, at) =>
    alertOf(
      { alertname: 'ReadOnlyFilesystem', severity: 'critical', scope: 'workload', namespace: `n${at}` },
      { startsAt: '2020-01-01T00:00:00Z' },
    ),
  );
  const { url } = await fakeServer(t, () => ({
    body: [...flood, alertOf({ alertname: 'SvcQueueOld', severity: 'warning', scope: 'platform' })],
  }));
  const { api } = await setUp(t, { alertmanager: url });
  const { body } = await api.call('GET', path);
  t.match(body, { truncated: true, items: { length: 500, 0: { name: 'SvcQueueOld' } } });
});

t.test('a silence is made in the name of the admin, listed, ended and audited', async (t) => {
  const { url, seen } = await fakeServer(t, ({ method, path: target }) => {
    if (method === 'POST') return { body: { silenceID: 'aa-1' } };
    if (method === 'DELETE') return target.endsWith('/aa-1') ? { body: '' } : { status: 404, body: '"no"' };
    const matchers = [
      { name: 'alertname', value: 'SvcQueueOld', isRegex: false, isEqual: true },
      { name: 'queue', value: 'builds', isRegex: false, isEqual: true },
    ];
    const one = { matchers, createdBy: 'a@b.c', comment: 'why', endsAt: '2026-11-02T00:00:00Z' };
    return {
      body: [
        { id: 'aa-1', status: { state: 'active' }, ...one },
        { id: 'aa-2', status: { state: 'expired' }, ...one },
      ],
    };
  });
  const { api, entries } = await setUp(t, { alertmanager: url });
  const body = { alert: 'SvcQueueOld', labels: { queue: 'builds' }, durationSeconds: 3600, comment: 'why' };
  t.match(await api.call('POST', `${path}/silences`, { body }), {
    status: 201,
    body: { id: 'aa-1', alert: 'SvcQueueOld', labels: { queue: 'builds' }, createdBy: 'admin@svc.local' },
  });
  t.match(seen[0]?.body, {
    createdBy: 'admin@svc.local',
    startsAt: '2026-01-01T00:00:00.000Z',
    endsAt: '2026-01-01T01:00:00.000Z',
    matchers: [
      { name: 'queue', value: 'builds' },
      { name: 'alertname', value: 'SvcQueueOld' },
    ],
  });
  t.match((await api.call('GET', `${path}/silences`)).body, {
    items: { length: 1, 0: { id: 'aa-1', alert: 'SvcQueueOld' } },
  });
  t.equal((await api.call('DELETE', `${path}/silences/aa-1`)).status, 204);
  t.match(await api.call('DELETE', `${path}/silences/aa-3`), { status: 404, body: { code: 'not_found' } });
  const audited = entries()
    .filter(({ msg }) => msg === 'audit')
    .map(({ action }) => action);
  t.same(audited, ['platform.alerts.silence', 'platform.alerts.unsilence']);
});

t.test('a label named as the alert cannot widen a silence, and bad input reaches no server', async (t) => {
  const { url, seen } = await fakeServer(t, () => ({ body: { silenceID: 'x' } }));
  const { api } = await setUp(t, { alertmanager: url });
  const silence = (fields: object) =>
    api.call('POST', `${path}/silences`, {
      body: { alert: 'SvcQueueOld', durationSeconds: 3600, comment: 'why', ...fields },
    });
  await silence({ labels: { alertname: 'SvcGateStale' } });
  t.match(seen[0]?.body, { matchers: [{ name: 'alertname', value: 'SvcQueueOld' }] });
  for (const fields of [
    { alert: '.*' },
    { alert: '' },
    { durationSeconds: 1e9 },
    { durationSeconds: 0 },
    { comment: '' },
    { comment: 'x'.repeat(501) },
    { labels: Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`l${at}`, 'x'])) },
  ]) {
    t.equal((await silence(fields)).status, 400, JSON.stringify(fields).slice(0, 60));
  }
  t.equal((await api.call('DELETE', `${path}/silences/..%2F..%2Falerts`)).status, 400);
  t.equal(seen.length, 1);
});

t.test('only platform admins list and silence alerts', async (t) => {
  const routes = createAlertRoutes({ alerts: createAlertStore({}), clock: fakeClock() });
  t.same(
    routes.map(({ access }) => access),
    routes.map(() => 'platform-admin'),
  );
});

t.test('without Alertmanager, Prometheus lists what fires; silences need Alertmanager', async (t) => {
  const labels = { alertname: 'SvcQueueOld', severity: 'warning', scope: 'platform', queue: 'builds' };
  const alert = (state: string) => ({
    labels: { ...labels, state },
    annotations: { summary: 's' },
    state,
    activeAt: '2026-11-01T12:00:00Z',
    value: '1e+00',
  });
  const { url } = await fakeServer(t, () => ({
    body: { status: 'success', data: { alerts: [alert('pending'), alert('firing')] } },
  }));
  for (const servers of [{ metricsStore: url }, { metricsStore: url, alertmanager: 'http://127.0.0.1:1' }]) {
    const { api } = await setUp(t, servers);
    t.match((await api.call('GET', path)).body, { items: { length: 1, 0: { name: 'SvcQueueOld', state: 'firing' } } });
    t.match(await api.call('GET', `${path}/silences`), { status: 503, body: { code: 'alerts_unavailable' } });
  }
});

t.test('without any server the answer says how to enable alerts, and a broken one is no 500', async (t) => {
  const none = await setUp(t, {});
  const unavailable = { status: 503, body: { code: 'alerts_unavailable', message: /docs\/how-to\/alerts\.md/ } };
  t.match(await none.api.call('GET', path), unavailable);
  t.match(await none.api.call('DELETE', `${path}/silences/a`), unavailable);
  const answers: object[] = [
    { body: 'no json' },
    { body: [{ labels: 1 }] },
    { status: 500, body: [] },
    { body: 'x'.repeat(5 * 1024 * 1024) },
    { body: [alertOf({}, { startsAt: 'never' })] },
  ];
  for (const answer of answers) {
    const { url } = await fakeServer(t, () => answer);
    const { api } = await setUp(t, { alertmanager: url });
    t.match(await api.call('GET', path), unavailable);
  }
});
