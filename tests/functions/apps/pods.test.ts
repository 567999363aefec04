import t from 'tap';
import { createAppRoutes } from '../../../functions/apps/handler.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import { podToView } from '../../../runtime/api/pod-routes.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { seedShop } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';

const apps = '/api/v1/projects/shop/apps';

function pod(name: string, id: string, status: Pod['status'], metadata: Partial<Pod['metadata']> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    spec: { containers: [{ name: 'app' }] },
    metadata: {
      name,
      namespace: 'shop-prod',
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { 'platform.svc/id': id, 'platform.svc/role': 'serve' },
      annotations: { 'platform.svc/release': '3' },
      ...metadata,
    },
    ...(status && { status }),
  };
}

const ready: Pod['status'] = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
const crashed: Pod['status'] = {
  phase: 'Running',
  containerStatuses: [
    {
      name: 'app',
      ready: false,
      restartCount: 4,
      state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 5m0s restarting' } },
      lastState: { terminated: { exitCode: 7, reason: 'Error', message: 'password=not-for-everyone' } },
    },
  ],
};

t.test('200: the serving pods of the app, newest first, and of no other workload', async (t) => {
  const kube = fakeKube({ checkNamespaces: true });
  seedShop(kube);
  const { pool } = await testDatabase(t);
  const api = await testApi(t, {
    routes: createAppRoutes({ kube, pool, clock: fakeClock(), baseUrl: 'http://console.test' }),
  });
  const { body: app } = await api.call('POST', apps, { body: { name: 'api', image: 'registry.test/shop/api:v1' } });
  kube.seed(
    pod('api-old', app.id, ready),
    pod('api-new', app.id, crashed, { creationTimestamp: '2026-01-01T00:05:00Z' }),
    pod('api-run', app.id, ready, { labels: { 'platform.svc/id': app.id, 'platform.svc/role': 'run' } }),
    pod('other', '00000000-0000-4000-8000-000000000000', ready),
  );
  const { status, body } = await api.call('GET', `${apps}/api/pods`);
  t.equal(status, 200, JSON.stringify(body));
  t.match(body.items, [
    { name: 'api-new', status: 'failing', reason: 'CrashLoopBackOff', exitCode: 7, restarts: 4, revision: 3 },
    { name: 'api-old', status: 'ready', restarts: 0, revision: 3, createdAt: '2026-01-01T00:00:00Z' },
  ]);
  t.notMatch(JSON.stringify(body), 'not-for-everyone', 'what a program printed needs the right to read logs');
  t.equal((await api.call('GET', `${apps}/missing/pods`)).status, 404);
});

t.test('a pod says what it does', (t) => {
  const view = (status: Pod['status'], metadata: Partial<Pod['metadata']> = {}) =>
    podToView(pod('api-1', 'id', status, metadata));
  t.match(view(undefined, { annotations: {} }), { status: 'starting', revision: undefined });
  t.match(view(ready, { deletionTimestamp: '2026-01-01T00:01:00Z' }), { status: 'ending', reason: undefined });
  const waiting = { reason: 'ImagePullBackOff', message: 'Back-off pulling image "x"' };
  const pulls = {
    phase: 'Pending',
    containerStatuses: [{ name: 'app', ready: false, restartCount: 0, state: { waiting } }],
  };
  t.match(view(pulls as Pod['status']), { ...waiting, status: 'failing', exitCode: undefined });
  t.end();
});
