import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { createLocalMetrics } from '../../../../infra/local/metrics/local-metrics.ts';
import type { KubeObject } from '../../../../runtime/contracts/kubernetes.ts';
import type { KubeClient } from '../../../../runtime/kube/kube-client.ts';
import { MetricsUnavailable } from '../../../../runtime/metrics/metrics-store.ts';
import { createAlertStore, type AlertStore } from '../../../../runtime/services/alert-store.ts';
import { openMetricsStore } from '../../../../runtime/metrics/open-store.ts';
import { close, listen } from '../../../../runtime/process/listening.ts';
import { fakeClock, settle, type FakeClock } from '../../../support/clock.ts';
import { fakeKube } from '../../../support/fake-kube.ts';
import { silentLog } from '../../../support/log.ts';

const start = Date.parse('2026-11-21T12:00:00Z');
const consoleToken = 'token-of-console-api';
const workersToken = 'token-of-svc-workers';
const usernames: Readonly<Record<string, string>> = {
  [consoleToken]: 'system:serviceaccount:svc-system:console-api',
  [workersToken]: 'system:serviceaccount:svc-system:svc-workers',
  'token-of-controllers': 'system:serviceaccount:svc-system:svc-controllers',
  'token-of-an-app': 'system:serviceaccount:shop-prod:default',
  'token-of-another-console': 'system:serviceaccount:shop-prod:console-api',
};

/** A Kubernetes API that reviews tokens. */
function reviewing(objects: KubeObject[]): { kube: KubeClient; reviews: string[] } {
  const kube = fakeKube();
  kube.seed(...objects);
  const reviews: string[] = [];
  const create = async (object: KubeObject) => {
    const { token } = object.spec as { token: string };
    reviews.push(token);
    const username = usernames[token];
    return { ...object, status: username === undefined ? {} : { authenticated: true, user: { username } } };
  };
  return { kube: { ...kube, create: create as never }, reviews };
}

function adminPod(port: number): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'svc-controllers-1', namespace: 'svc-system', labels: { app: 'svc-controllers' } },
    spec: { containers: [{ name: 'main', ports: [{ name: 'admin', containerPort: port }] }] },
    status: { phase: 'Running', podIP: '127.0.0.1', containerStatuses: [] },
  };
}

/** A process of the platform whose metrics a test sets. */
async function platformProcess(t: Test) {
  const state = { text: '', requests: 0 };
  const server = createServer((request, response) => {
    state.requests++;
    response.end(request.url === '/metrics' ? state.text : '');
  });
  const port = await listen(server, 0, '127.0.0.1');
  t.teardown(() => close(server));
  return { state, port };
}

async function world(t: Test) {
  const { state, port: adminPort } = await platformProcess(t);
  const { kube, reviews } = reviewing([adminPod(adminPort)]);
  const clock = fakeClock(new Date(start));
  const source = { name: 'node', text: '' };
  const metrics = createLocalMetrics({
    kube,
    reviews: kube,
    sources: [
      { name: 'broken', metrics: () => Promise.reject(new Error('no metrics')) },
      { name: source.name, metrics: () => source.text },
    ],
    file: join(t.testdir(), 'metrics', 'workloads.ring'),
    port: 0,
    clock,
    log: silentLog,
  });
  const port = await metrics.start();
  t.teardown(() => metrics.stop());
  await metrics.enable();
  const storeOf = (token: string) => openMetricsStore(`ring+http://127.0.0.1:${port}/`, async () => token);
  return { metrics, clock, port, process: state, source, storeOf, reviews };
}

/** Advances to the next collection, and waits until the scraper sleeps again. */
async function collect(clock: FakeClock): Promise<void> {
  await clock.advance(15_000);
  while (clock.sleepers() === 0) await settle();
}

const labels = 'namespace="shop-prod",kind="app",name="api"';
const target = { namespace: 'shop-prod', kind: 'app', name: 'api' } as const;

t.test('the figures of processes and of the node are stored, and console-api reads them', async (t) => {
  const { clock, process, source, storeOf, reviews } = await world(t);
  for (let round = 1; round <= 5; round++) {
    process.text = `svc_workload_replicas{${labels}} 2\n`;
    source.text = `svc_workload_memory_bytes{${labels}} ${round}\nsvc_workload_cpu_seconds_total{${labels}} ${round * 3}\n`;
    await collect(clock);
  }
  const at = start / 1000 + 75;
  const store = storeOf(consoleToken);
  const { times, figures } = await store.workload(target, { from: at - 60, to: at, step: 15 });
  t.equal(times.length, 5);
  t.equal(figures.memoryBytes?.at(-1), 5);
  t.equal(figures.replicas?.at(-1), 2);
  t.equal(figures.cpuCores?.at(-1), 0.2);
  t.match(await store.namespace('shop-prod', at), [{ kind: 'app', name: 'api', figures: { memoryBytes: 5 } }]);
  t.same(reviews, [consoleToken], 'one review for several questions');
});

t.test('only console-api may ask, although every pod can connect', async (t) => {
  const { port, storeOf } = await world(t);
  for (const token of [
    workersToken,
    'token-of-controllers',
    'token-of-an-app',
    'token-of-another-console',
    'unknown',
    'a b',
    '',
  ]) {
    await t.rejects(storeOf(token).namespace('shop-prod', 1), MetricsUnavailable, `token "${token}"`);
  }
  const ask = async (bytes: string) => {
    const socket = connect(port, '127.0.0.1').end(bytes);
    return (await text(socket)).split('\r\n')[0];
  };
  t.match(await ask('POST /namespace HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'), '401');
  t.match(await ask('GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'), '401');
});

t.test('connections that send no accepted token keep out nobody', async (t) => {
  const { port, storeOf } = await world(t);
  const open = async () => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    t.teardown(() => socket.destroy());
    await once(socket, 'connect');
    return socket;
  };
  const fields = ['Host: x', `Authorization: Bearer ${consoleToken}`, 'Content-Length: 0'];
  const ask = async (socket: Socket) => {
    socket.write(`POST /other HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    return answer.toString().split('\r\n')[0];
  };
  const ofConsole = await open();
  t.match(await ask(ofConsole), '404');
  const oldest = await open();
  const closed = once(oldest.resume(), 'close');
  for (let index = 0; index < 70; index++) await open();
  await closed;
  t.same(await storeOf(consoleToken).namespace('shop-prod', 1), [], 'a new connection');
  t.match(await ask(ofConsole), '404', 'the oldest connection, which sent a token');
});

t.test('a refused token costs one review in a few seconds', async (t) => {
  const { clock, storeOf, reviews } = await world(t);
  const wrong = () => t.rejects(storeOf('unknown').namespace('shop-prod', 1), MetricsUnavailable);
  await wrong();
  await wrong();
  t.same(reviews, ['unknown']);
  await collect(clock);
  await wrong();
  t.same(reviews, ['unknown', 'unknown'], 'later it may have become valid');
});

t.test('questions that are not valid are refused', async (t) => {
  const { port } = await world(t);
  const post = async (path: string, body: string) => {
    const headers = { Authorization: `Bearer ${consoleToken}` };
    const { status } = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body, headers });
    return status;
  };
  t.equal(await post('/namespace', '{"namespace":"shop-prod","at":1}'), 200);
  t.equal(await post('/namespace', '{"namespace":"../x","at":1}'), 400);
  t.equal(await post('/namespace', 'x'), 400);
  t.equal(await post('/other', '{}'), 404);
  const window = { from: 0, to: 1e9, step: 1 };
  t.equal(await post('/workload', JSON.stringify({ ...target, window })), 400, 'too many values');
  t.equal(await post('/workload', `{"x":"${'y'.repeat(5_000)}"}`).catch(() => 400), 400, 'too long');
});

t.test('a disabled store refuses, and keeps its figures until they are deleted', async (t) => {
  const { metrics, clock, source, storeOf } = await world(t);
  const store = storeOf(consoleToken);
  const names = async () => (await store.namespace('shop-prod', start / 1000 + 30)).map(({ name }) => name);
  source.text = `svc_workload_memory_bytes{${labels}} 5\n`;
  await collect(clock);
  t.same(await names(), ['api']);

  await metrics.disable();
  await metrics.disable();
  await t.rejects(names(), { name: 'MetricsUnavailable', message: /disabled or starting/ });
  await clock.advance(15_000);
  t.equal(clock.sleepers(), 0, 'nothing is collected');
  t.ok(metrics.hasData());
  await metrics.enable();
  t.same(await names(), ['api']);

  await metrics.disable();
  await metrics.deleteData();
  t.notOk(metrics.hasData());
  await metrics.enable();
  await metrics.enable();
  t.same(await names(), []);
});

t.test('console-api lists and silences alerts, svc-workers list them, and no pod of a user does either', async (t) => {
  const { metrics, clock, port, process } = await world(t);
  const folder = t.testdir({ console: consoleToken, workers: workersToken, app: 'token-of-an-app' });
  const [console, workers, app] = (['console', 'workers', 'app'] as const).map((name) =>
    createAlertStore({ alertmanager: `http://127.0.0.1:${port}`, tokenFile: join(folder, name) }),
  ) as [AlertStore, AlertStore, AlertStore];
  t.same(await console.list(), []);
  process.text = [
    'svc_process_replicas{name="svc-redis"} 1',
    'svc_process_ready_replicas{name="svc-redis"} 0',
    `svc_read_only_filesystem{namespace="shop-prod",kind="App",name="api"} 1`,
    '',
  ].join('\n');
  for (let seconds = 0; seconds <= 315; seconds += 15) await collect(clock);
  const [down, crash] = (await console.list()).toSorted((a, b) =>
    (a.labels['name'] ?? '') < (b.labels['name'] ?? '') ? 1 : -1,
  );
  t.match(down, {
    labels: { alertname: 'SvcProcessDown', severity: 'critical', scope: 'platform', name: 'svc-redis' },
    annotations: { summary: 'Only 0 replicas of svc-redis are ready.' },
    startsAt: new Date(start + 315_000),
    silenced: false,
  });
  t.match(crash, { labels: { alertname: 'ReadOnlyFilesystem', name: 'api' }, startsAt: new Date(start + 15_000) });
  t.same(await workers.list(), await console.list());

  const silence = {
    labels: { alertname: 'SvcProcessDown', name: 'svc-redis' },
    createdBy: 'admin@svc.local',
    comment: 'a "new" one comes today',
    endsAt: new Date(clock.now().getTime() + 600_000),
  };
  for (const other of [workers, app]) {
    await t.rejects(other.silence(silence, clock.now()), { code: 'alerts_unavailable' });
  }
  await t.rejects(app.list(), { code: 'alerts_unavailable' });
  const id = await console.silence(silence, clock.now());
  t.same(await workers.silences(), [{ id, ...silence }]);
  const silenced = (await workers.list()).filter((alert) => alert.silenced);
  t.match(silenced, [{ labels: { alertname: 'SvcProcessDown' } }]);
  await t.rejects(workers.unsilence(id), { code: 'alerts_unavailable' });

  await metrics.disable();
  await t.rejects(console.list(), { code: 'alerts_unavailable', message: /svc platform enable metrics-store/ });
  await metrics.enable();
  t.match(await console.silences(), [{ id }], 'silences outlive it');
  t.equal(await console.unsilence(id), true);
  t.equal(await console.unsilence(id), false);
  t.same(await console.silences(), []);
  t.ok(await console.silence(silence, clock.now()));
  await clock.advance(600_000);
  t.same(await console.silences(), [], 'it has ended');
});
