import t, { type Test } from 'tap';
import { createMetricsRoutes } from '../../../functions/metrics/handler.ts';
import { servicesOf } from '../../../functions/metrics/ingress-services.ts';
import { createAsk } from '../../../functions/metrics/store.ts';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { transaction } from '../../../runtime/db/pool.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { figuresOf } from '../../../runtime/metrics/figures.ts';
import {
  MetricsUnavailable,
  timesOf,
  type MetricsStore,
  type MetricsTarget,
  type MetricsWindow,
} from '../../../runtime/metrics/metrics-store.ts';
import { acceptDeployment } from '../../../runtime/records/acceptance.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { createMetricsSources } from '../../../runtime/api/metrics-sources.ts';
import { writeControllerReport } from '../../../runtime/records/controller-reports.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { environmentId, platformConfigObject, seedShop, settings } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';

const namespace = 'shop-prod';
const id = newId();

function labelled(kind: string, name: string): Record<string, string> {
  return { app: name, 'platform.svc/kind': kind, 'platform.svc/id': id };
}

function workload(kind: string, name: string): KubeObject {
  const metadata = { name, namespace, labels: labelled(kind, name) };
  return { apiVersion: 'platform.svc/v1', kind, metadata, spec: {} };
}

function pod(kind: string, name: string, podName: string, restartCount: number): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: podName, namespace, labels: labelled(kind, name) },
    spec: { containers: [] },
    status: {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: [{ name: 'app', ready: true, restartCount, state: {}, lastState: {} }],
    },
  };
}

const route: KubeObject = {
  apiVersion: 'traefik.io/v1alpha1',
  kind: 'IngressRoute',
  metadata: { name: 'api', namespace, labels: labelled('App', 'api') },
  spec: { routes: [{ match: 'Host(`api.apps.test`)' }] },
};

/** A store that answers 1 for everything, and records the questions. */
function oneStore() {
  const questions: { target?: MetricsTarget; window?: MetricsWindow; namespace?: string }[] = [];
  const store: MetricsStore = {
    async workload(target, window) {
      questions.push({ target, window });
      const times = timesOf(window);
      const figures = Object.fromEntries(figuresOf(target.kind).map((figure) => [figure, times.map(() => 1)]));
      return { times, figures };
    },
    async namespace(name) {
      questions.push({ namespace: name });
      return [
        { kind: 'app', name: 'api', figures: { cpuCores: 0.5, memoryBytes: 100, requestsPerSecond: 3 } },
        { kind: 'job', name: 'report', figures: { cpuCores: 2 } },
      ];
    },
    async history(name, window) {
      questions.push({ namespace: name, window });
      const values = timesOf(window).map((_, index) => index);
      return [{ kind: 'app', name: 'api', figures: { requestsPerSecond: values, cpuCores: values } }];
    },
    ingress: () => Promise.resolve('on'),
  };
  return { store, questions };
}

async function service(t: Test, store: MetricsStore | undefined) {
  const kube = fakeKube();
  seedShop(kube);
  kube.seed(
    workload('App', 'api'),
    workload('Function', 'hello'),
    workload('Job', 'report'),
    workload('Service', 'orders'),
    route,
    pod('App', 'api', 'api-1', 2),
    pod('App', 'api', 'api-2', 1),
    pod('Service', 'orders', 'orders-0', 0),
  );
  const { pool } = await testDatabase(t);
  const clock = fakeClock(new Date('2026-11-21T12:00:20Z'));
  const sources = createMetricsSources({ kube, pool, store });
  const api = await testApi(t, { routes: createMetricsRoutes({ kube, pool, clock, store, sources }) });
  return { api, pool, kube };
}

const path = (rest: string) => `/api/v1/projects/shop/${rest}`;

t.test('each kind of workload has its figures over time', async (t) => {
  const { store, questions } = oneStore();
  const { api } = await service(t, store);
  for (const [collection, name, kind] of [
    ['apps', 'api', 'app'],
    ['functions', 'hello', 'function'],
    ['jobs', 'report', 'job'],
    ['services', 'orders', 'service'],
  ] as const) {
    const { status, body } = await api.call('GET', path(`${collection}/${name}/metrics`));
    t.equal(status, 200, JSON.stringify(body));
    t.match(body, { name, stepSeconds: 60, to: '2026-11-21T12:00:00.000Z', from: '2026-11-21T11:00:00.000Z' });
    t.same(Object.keys(body.figures).toSorted(), figuresOf(kind).toSorted());
    t.equal(body.figures.cpuCores.length, 61);
    t.match(questions.at(-1)?.target, { namespace, kind, name });
  }
});

t.test('the namespace and the names of the ingress come from the platform', async (t) => {
  const { store, questions } = oneStore();
  const { api } = await service(t, store);
  t.equal((await api.call('GET', path('apps/api/metrics?namespace=other-prod'))).status, 400);
  await api.call('GET', path('apps/api/metrics?range=24h&step=3600'));
  t.match(questions.at(-1), {
    target: { namespace, ingressServices: ['shop-prod-api-ceec7fe5a2457ed862aa@kubernetescrd'] },
    window: { step: 3600 },
  });
  t.equal((await api.call('GET', path('apps/nobody/metrics'))).status, 404, 'a workload that does not exist');
});

t.test('two apps never share a service of the ingress', (t) => {
  const routeOf = (routeNamespace: string, name: string, host: string) => {
    const metadata = { name, namespace: routeNamespace, uid: 'u', resourceVersion: '1' };
    return { ...route, metadata, spec: { routes: [{ match: `Host(\`${host}\`)` }] } };
  };
  // Both would be shop-prod-x-api without the digest.
  t.notSame(
    servicesOf(routeOf('shop-prod', 'x-api', 'one.test')),
    servicesOf(routeOf('shop-prod-x', 'api', 'two.test')),
  );
  t.end();
});

t.test('deployments in the range are marked, oldest first', async (t) => {
  const { api, pool } = await service(t, oneStore().store);
  await projectWorkload(pool, {
    id,
    kind: 'App',
    environmentId,
    project: 'shop',
    environment: 'prod',
    namespace,
    name: 'api',
    gated: false,
  });
  const ids: string[] = [];
  for (const version of [1, 2, 3]) {
    const accepted = await transaction(pool, (client) =>
      acceptDeployment(client, { workloadId: id, trigger: 'webhook', image: `registry.test/api:${version}` }),
    );
    ids.push(accepted.id);
  }
  const times = ['2026-11-21T08:00:00Z', '2026-11-21T11:10:00Z', '2026-11-21T11:50:00Z'];
  for (const [index, time] of times.entries()) {
    await pool.query('UPDATE deployments SET accepted_at = $2 WHERE id = $1', [ids[index], time]);
  }
  const { body } = await api.call('GET', path('apps/api/metrics'));
  t.match(body.deployments, [
    { id: ids[1], revision: 2, at: '2026-11-21T11:10:00.000Z' },
    { id: ids[2], revision: 3, at: '2026-11-21T11:50:00.000Z' },
  ]);
  t.equal(body.deployments.length, 2);
});

t.test('a step that asks for too many or no values is refused', async (t) => {
  const { store, questions } = oneStore();
  const { api } = await service(t, store);
  t.match(await api.call('GET', path('apps/api/metrics?range=3d&step=15')), {
    status: 422,
    body: { code: 'invalid_value', message: /at least 173 seconds/ },
  });
  t.match(await api.call('GET', path('apps/api/metrics?range=1h&step=7200')), { status: 422 });
  for (const query of ['range=7d', 'step=1', 'step=x', 'range=1h&range=6h']) {
    t.equal((await api.call('GET', path(`apps/api/metrics?${query}`))).status, 400, query);
  }
  t.same(questions, []);
});

t.test('top shows what each workload uses, by CPU', async (t) => {
  const { store, questions } = oneStore();
  const { api } = await service(t, store);
  const { body } = await api.call('GET', path('top'));
  t.match(body, {
    at: '2026-11-21T12:00:00.000Z',
    omitted: 0,
    items: [
      { kind: 'job', name: 'report', cpuCores: 2, requestsPerSecond: null },
      { kind: 'app', name: 'api', cpuCores: 0.5, memoryBytes: 100, readyReplicas: 2, restarts: 3 },
      { kind: 'service', name: 'orders', cpuCores: null, readyReplicas: 1 },
    ],
  });
  t.notOk('metricsUnavailable' in body);
  t.same(
    questions.map((question) => question.namespace),
    [namespace],
  );
});

t.test('top shows the last hour on request', async (t) => {
  const { store, questions } = oneStore();
  const { api } = await service(t, store);
  const { body } = await api.call('GET', path('top?history=true'));
  t.match(body.window, { from: '2026-11-21T11:00:00.000Z', to: '2026-11-21T12:00:00.000Z', stepSeconds: 180 });
  const histories = body.items.map(({ name, history }: { name: string; history?: object }) => [name, history]);
  const values = Array.from({ length: 21 }, (_, index) => index);
  t.same(histories, [
    ['report', undefined],
    ['api', { requestsPerSecond: values, cpuCores: values }],
    ['orders', undefined],
  ]);
  t.same(
    questions.map((question) => question.namespace),
    [namespace, namespace],
    'both from the own namespace',
  );
});

t.test('without a store, metrics are unavailable and top shows the pods', async (t) => {
  const down: MetricsStore = {
    workload: () => Promise.reject(new MetricsUnavailable('The metrics store cannot be reached.')),
    namespace: () => Promise.reject(new MetricsUnavailable('The metrics store cannot be reached.')),
    history: () => Promise.reject(new MetricsUnavailable('The metrics store cannot be reached.')),
    ingress: () => Promise.reject(new MetricsUnavailable('The metrics store cannot be reached.')),
  };
  for (const [store, message] of [
    [undefined, /has no metrics store/],
    [down, /cannot be reached/],
  ] as const) {
    const { api } = await service(t, store);
    t.match(await api.call('GET', path('apps/api/metrics')), {
      status: 503,
      body: { code: 'metrics_unavailable', message },
    });
    const { status, body } = await api.call('GET', path('top'));
    t.equal(status, 200);
    t.match(body, {
      metricsUnavailable: message,
      items: [{ name: 'api', replicas: 2, restarts: 3 }, { name: 'orders' }],
    });
  }
});

t.test('a store that an admin has disabled is told apart from one that does not answer', async (t) => {
  const fails = () => Promise.reject(new MetricsUnavailable('The metrics store cannot be reached.'));
  const { api, kube } = await service(t, { workload: fails, namespace: fails, history: fails, ingress: fails });
  const monitoring = { mode: 'cluster', components: { 'metrics-store': { enabled: false } } };
  kube.seed({ ...platformConfigObject, spec: { ...settings, monitoring } });
  t.match(await api.call('GET', path('apps/api/metrics')), {
    status: 503,
    body: { code: 'metrics_unavailable', message: /is disabled.*svc platform enable metrics-store/ },
  });
});

t.test('figures that the platform cannot collect are named, and those of an idle workload are not', async (t) => {
  const none: Pick<MetricsStore, 'workload'> = {
    async workload(target, window) {
      const values = () => timesOf(window).map(() => null);
      return {
        times: timesOf(window),
        figures: Object.fromEntries(figuresOf(target.kind).map((name) => [name, values()])),
      };
    },
  };
  const { store: ones } = oneStore();
  let ingress: Awaited<ReturnType<MetricsStore['ingress']>> = 'missing';
  const { api, pool } = await service(t, { ...ones, ...none, ingress: () => Promise.resolve(ingress) });
  const report = { healthy: true, managerStarted: true, cacheSynced: true, controllers: [], processes: [], nodes: [] };
  const notes = async (rest: string) => (await api.call('GET', path(rest))).body.notes as string[] | undefined;
  const requests = /^Requests and latency are not collected: .*ingress.* `svc status`/;
  const usage = /^CPU and memory are not collected: .*metrics API.* `svc status`/;

  await writeControllerReport(pool, { ...report, usage: 'absent' });
  t.match(await notes('apps/api/metrics'), [requests, usage]);
  t.match(await notes('functions/hello/metrics'), [usage]);
  t.match(await notes('services/orders/metrics'), [usage]);
  ingress = 'on';
  t.match(await notes('apps/api/metrics'), [usage]);
  await writeControllerReport(pool, { ...report, usage: 'available' });
  t.equal(await notes('apps/api/metrics'), undefined);

  const { api: other, pool: otherPool } = await service(t, { ...ones, ingress: () => Promise.resolve('missing') });
  await writeControllerReport(otherPool, { ...report, usage: 'absent' });
  const { body } = await other.call('GET', path('apps/api/metrics'));
  t.notOk('notes' in body, 'figures with values need no reason');
});

t.test('an environment with many questions keeps no other waiting', async (t) => {
  const blocked = Promise.withResolvers<void>();
  const { store: answering } = oneStore();
  let running = 0;
  let most = 0;
  const slow: MetricsStore = {
    ...answering,
    async workload(target, window) {
      most = Math.max(most, ++running);
      await blocked.promise;
      running--;
      return answering.workload(target, window);
    },
  };
  const { api } = await service(t, slow);
  const calls = Array.from({ length: 49 }, () => api.call('GET', path('apps/api/metrics')));
  await t.resolves(new Promise<void>((resolve) => setImmediate(resolve)));
  // These routes see one project; the share of several is tested in fair-places.test.ts.
  blocked.resolve();
  for (const answer of await Promise.all(calls)) t.equal(answer.status, 200);
  t.ok(most <= 3, `${most} questions of one environment at once`);
});

t.test('a client that leaves while it waits asks nothing, and too many that wait are refused', async (t) => {
  const blocked = Promise.withResolvers<void>();
  const ask = createAsk(oneStore().store, fakeKube());
  const staying = new AbortController().signal;
  const asks: number[] = [];
  const question = (number: number, signal = staying) =>
    ask(namespace, signal, async () => {
      asks.push(number);
      await blocked.promise;
    });
  const leaving = new AbortController();
  const running = [1, 2, 3].map((number) => question(number));
  const left = t.rejects(question(0, leaving.signal), { message: 'the client left' });
  leaving.abort(new Error('the client left'));
  const waiting = Array.from({ length: 50 }, (_, index) => question(index + 4));
  await t.rejects(question(100), { code: 'overloaded' });
  blocked.resolve();
  await Promise.all([left, ...running, ...waiting]);
  t.equal(asks.length, 53);
  t.notOk(asks.includes(0));
});
