import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { fairShare } from '../../../runtime/domain/fair-share.ts';
import { managedByLabel } from '../../../runtime/domain/labels.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import { createInformers } from '../../../runtime/kube/informers.ts';
import { createCounts, type ScaledObject } from '../../../workers/controllers/workload-counts.ts';
import { exportWorkloads } from '../../../workers/controllers/workload-metrics.ts';
import { coresOf, createUsagePoll, type WorkloadUsage } from '../../../workers/controllers/workload-usage.ts';
import { fakeClock, settle } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';

const labels = (kind: string, name: string) => ({ app: name, 'platform.svc/kind': kind, [managedByLabel]: 'kipper' });

interface PodState {
  restarts?: number;
  killedAt?: string;
  created?: string;
}

function pod(
  kind: string,
  name: string,
  podName: string,
  { restarts = 0, killedAt, created }: PodState = {},
): KubeObject {
  const terminated = { exitCode: 137, reason: 'OOMKilled', finishedAt: killedAt };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: podName,
      namespace: 'shop-prod',
      labels: labels(kind, name),
      creationTimestamp: created ?? '2026-01-01T01:00:00Z',
    },
    spec: { containers: [] },
    status: {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: [
        { name: 'app', ready: true, restartCount: restarts, state: {}, lastState: killedAt ? { terminated } : {} },
      ],
    },
  };
}

function deployment(kind: string, name: string, replicas: number, namespace = 'shop-prod'): KubeObject {
  const metadata = { name, namespace, labels: labels(kind, name) };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { replicas } };
}

async function world(t: Test, { max = 100, usage = [] as WorkloadUsage[], objects = [] as KubeObject[] } = {}) {
  const kube = fakeKube();
  kube.seed(...objects);
  const clock = fakeClock();
  const informers = createInformers({ kube, clock, log: silentLog });
  const pods = informers.of<Pod>(kinds.Pod);
  const scaled = [informers.of<ScaledObject>(kinds.Deployment)];
  const registry = new Registry();
  exportWorkloads(registry, { counts: createCounts({ pods, scaled, clock, max }), usage: () => usage });
  informers.start();
  t.teardown(() => informers.stop());
  await informers.whenSynced();
  const lines = async () => {
    await settle();
    const text = await registry.metrics();
    return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  };
  return { kube, clock, lines };
}

const api = 'namespace="shop-prod",kind="app",name="api"';

t.test('replicas, ready replicas and usage of the workloads that exist', async (t) => {
  const usage: WorkloadUsage[] = [
    { namespace: 'shop-prod', kind: 'app', name: 'api', cpuSeconds: 1.5, memoryBytes: 9 },
  ];
  const { kube, lines } = await world(t, { usage, objects: [deployment('App', 'api', 3), pod('App', 'api', 'api-1')] });
  const before = await lines();
  for (const line of [
    `svc_workload_replicas{${api}} 3`,
    `svc_workload_ready_replicas{${api}} 1`,
    `svc_workload_restarts_total{${api}} 0`,
    `svc_workload_cpu_seconds_total{${api}} 1.5`,
    `svc_workload_memory_bytes{${api}} 9`,
    'svc_workload_metrics_omitted 0',
  ]) {
    t.ok(before.includes(line), line);
  }
  usage.length = 0;
  await kube.delete({ ...kinds.Deployment, name: 'api', namespace: 'shop-prod' });
  await kube.delete({ ...kinds.Pod, name: 'api-1', namespace: 'shop-prod' });
  t.same(await lines(), ['svc_workload_metrics_omitted 0'], 'a deleted workload has no series');
});

t.test('restarts and kills for memory are counted once, and do not fall with the pod', async (t) => {
  const old = pod('App', 'api', 'api-0', {
    restarts: 5,
    killedAt: '2025-12-31T00:00:00Z',
    created: '2025-12-30T00:00:00Z',
  });
  const { kube, lines } = await world(t, { objects: [deployment('App', 'api', 1), old] });
  const counts = async () =>
    (await lines()).filter((line) => /restarts|oom/.test(line)).map((line) => line.split('} ')[1]);
  t.same(await counts(), ['0', '0'], 'what happened before this process is not counted');
  await kube.create(pod('App', 'api', 'api-1'));
  const change = async (state: PodState) => {
    const stored = await kube.get(kinds.Pod, 'api-1', 'shop-prod');
    const { status } = pod('App', 'api', 'api-1', state);
    if (stored) await kube.replaceStatus({ ...stored, status });
    return counts();
  };
  t.same(await change({ restarts: 1, killedAt: '2026-01-01T01:00:05Z' }), ['1', '1']);
  t.same(await change({ restarts: 1, killedAt: '2026-01-01T01:00:05Z' }), ['1', '1']);
  t.same(await change({ restarts: 3, killedAt: '2026-01-01T01:00:09Z' }), ['3', '2']);
  await kube.delete({ ...kinds.Pod, name: 'api-1', namespace: 'shop-prod' });
  t.same(await counts(), ['3', '2']);
});

t.test('too many workloads: the namespaces with most are cut, and the rest is counted', async (t) => {
  const many = Array.from({ length: 50 }, (_, index) => deployment('App', `app-${index}`, 1, 'greedy-prod'));
  const { lines } = await world(t, { max: 10, objects: [...many, deployment('App', 'api', 1)] });
  const replicas = (await lines()).filter((line) => line.startsWith('svc_workload_replicas'));
  t.equal(replicas.length, 10);
  t.ok(replicas.some((line) => line.includes('shop-prod')));
  t.ok((await lines()).includes('svc_workload_metrics_omitted 41'));
});

t.test('places are shared fairly', (t) => {
  t.equal(fairShare([1, 2, 3], 6), Infinity);
  t.equal(fairShare([1, 100, 100], 21), 10);
  t.equal(fairShare([], 5), Infinity);
  t.equal(fairShare([5, 5], 1), 0);
  t.end();
});

t.test('usage comes from the metrics API, and CPU time adds up', async (t) => {
  const clock = fakeClock();
  let answer: unknown = {
    items: [
      {
        metadata: { name: 'api-1', namespace: 'shop-prod' },
        containers: [
          { name: 'app', usage: { cpu: '500000000n', memory: '64Mi' } },
          { name: 'sidecar', usage: { cpu: '100m', memory: '1Mi' } },
        ],
      },
      { metadata: { name: 'foreign', namespace: 'kube-system' }, containers: [{ name: 'x', usage: { cpu: '9' } }] },
    ],
  };
  const poll = createUsagePoll({
    kube: { list: () => (answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)) as never },
    pods: { get: (name) => (name === 'api-1' ? (pod('App', 'api', name) as never) : undefined) },
    clock,
    log: silentLog,
    max: 10,
  });
  t.equal(poll.state(), undefined);
  poll.start();
  await settle();
  t.equal(poll.state(), 'available');
  t.match(poll.usage(), [{ kind: 'app', name: 'api', cpuSeconds: 0, memoryBytes: 65 * 2 ** 20 }]);
  await clock.advance(30_000);
  t.equal(poll.usage().length, 1);
  t.ok(Math.abs((poll.usage()[0]?.cpuSeconds ?? 0) - 0.6 * 30) < 1e-6);
  answer = new KubeError(404, 'NotFound', 'no such API');
  await clock.advance(15_000);
  t.same(poll.usage(), [], 'without the API there is no usage');
  t.equal(poll.state(), 'absent');
  for (const [error, state] of [
    [new KubeError(403, 'Forbidden', 'no'), 'refused'],
    [new KubeError(503, 'ServiceUnavailable', 'the server is currently unable to handle the request'), 'failing'],
  ] as const) {
    answer = error;
    await clock.advance(300_000);
    t.equal(poll.state(), state);
  }
  await poll.stop();
});

t.test('quantities of CPU are read as cores', (t) => {
  t.same(['1500000n', '250m', '2', '1.5', '7u', 'x', '', '1k'].map(coresOf), [0.0015, 0.25, 2, 1.5, 7e-6, 0, 0, 0]);
  t.end();
});
