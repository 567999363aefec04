import { Registry } from 'prom-client';
import t from 'tap';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import { podLabels } from '../../../runtime/domain/labels.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import { createMissedSchedules, type ScheduledJob } from '../../../workers/controllers/missed-schedules.ts';
import { createNodeList } from '../../../workers/controllers/nodes.ts';
import { readOnlyCrashes } from '../../../workers/controllers/read-only-filesystem.ts';
import { exportState, type ObservedState } from '../../../workers/controllers/state-metrics.ts';
import { fakeClock, settle } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';

const now = new Date('2026-11-01T12:00:00Z');
const minutesAgo = (minutes: number) => new Date(now.getTime() - minutes * 60_000).toISOString();
const crashed = 'starting\nwrite /data/x: Read-only file system\n    at run (app.js:1)\n';

interface PodInput {
  name?: string;
  message?: string;
  exitCode?: number;
  finishedAt?: string;
  /** Where the kubelet reports the end of the container. */
  in?: 'state' | 'lastState';
  mountReadOnly?: boolean;
  claimReadOnly?: boolean;
  volume?: object;
}

function pod(input: PodInput = {}): Stored<Pod> {
  const { name = 'api', message = crashed, exitCode = 1, finishedAt = minutesAgo(1), in: at = 'lastState' } = input;
  const terminated = { exitCode, message, finishedAt };
  const claim = { claimName: 'uploads', ...(input.claimReadOnly && { readOnly: true }) };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${name}-1`,
      namespace: 'shop-prod',
      uid: name,
      resourceVersion: '1',
      labels: podLabels({ kind: 'App', name, id: '019a0000-0000-7000-8000-0000000000a1' }, 'serve'),
    },
    spec: {
      containers: [
        {
          name: 'app',
          volumeMounts: [{ name: 'v', mountPath: '/data', ...(input.mountReadOnly && { readOnly: true }) }],
        },
      ],
      volumes: [{ name: 'v', ...(input.volume ?? { persistentVolumeClaim: claim }) }],
    },
    status: { containerStatuses: [{ name: 'app', ready: false, restartCount: 1, [at]: { terminated } }] },
  };
}

t.test('a crash whose last log says that the file system is read-only names the line and the volume', (t) => {
  const expected = {
    namespace: 'shop-prod',
    kind: 'App',
    name: 'api',
    line: 'write /data/x: Read-only file system',
    volumes: ['uploads'],
  };
  t.same(readOnlyCrashes([pod()], now), [expected]);
  t.same(readOnlyCrashes([pod({ in: 'state' })], now), [expected]);
  const erofs = 'Error: EROFS: read-only file system, open "/data/x"';
  t.match(readOnlyCrashes([pod({ message: erofs })], now), [{ line: erofs }]);
  t.match(readOnlyCrashes([pod({ message: 'sqlite: attempt to write; readonly' })], now), []);
  t.end();
});

t.test('no crash counts that is old, no failure, or of a container without a writable persistent volume', (t) => {
  const others: PodInput[] = [
    { message: 'out of memory' },
    { exitCode: 0 },
    { finishedAt: minutesAgo(31) },
    { finishedAt: 'never' },
    { mountReadOnly: true },
    { claimReadOnly: true },
    { volume: { emptyDir: {} } },
  ];
  for (const other of others) t.same(readOnlyCrashes([pod(other)], now), [], JSON.stringify(other));
  const foreign = pod();
  foreign.metadata.labels = {};
  t.same(readOnlyCrashes([foreign], now), []);
  t.end();
});

const cron = (schedule: string, status: ScheduledJob['status'] = {}, spec: object = {}): Stored<ScheduledJob> => ({
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata: {
    name: 'report',
    namespace: 'shop-prod',
    uid: 'u',
    resourceVersion: '1',
    labels: { 'platform.svc/kind': 'Function' },
  },
  spec: { schedule, jobTemplate: {}, ...spec },
  status,
});

t.test('a run that did not start within six minutes is missed until a later one starts', (t) => {
  const schedules = createMissedSchedules();
  const at = (time: string) => new Date(`2026-11-01T${time}Z`);
  const find = (time: string, status: ScheduledJob['status'], spec?: object) =>
    schedules.find([cron('0 * * * *', status, spec)], at(time)).map(({ name }) => name);
  const before = { lastScheduleTime: '2026-11-01T07:00:00Z' };
  t.same(find('12:30:00', before), [], 'what was due before the schedule was first seen does not count');
  t.same(find('13:05:00', before), []);
  t.same(find('13:07:00', before), ['report']);
  t.same(find('13:50:00', before), ['report']);
  t.same(find('14:00:05', { lastScheduleTime: '2026-11-01T14:00:00Z' }), [], 'the next run ends it');
  t.same(find('14:08:00', { lastScheduleTime: '2026-11-01T14:00:00Z' }), []);
  t.same(find('15:08:00', { lastScheduleTime: '2026-11-01T14:00:00Z', active: [{}] }), [], 'the former still runs');
  t.same(find('16:08:00', { lastScheduleTime: '2026-11-01T14:00:00Z' }, { suspend: true }), [], 'suspended');
  t.same(find('17:30:00', { lastScheduleTime: '2026-11-01T14:00:00Z' }), [], 'and resumed a moment ago');
  t.same(
    find('20:07:00', { lastScheduleTime: '2026-11-01T20:00:00Z' }),
    [],
    'only the last due run counts after a pause of this process',
  );
  t.same(createMissedSchedules().find([cron('no schedule')], now), []);
  t.end();
});

t.test('a schedule that changes is a new one', (t) => {
  const schedules = createMissedSchedules();
  const last = { lastScheduleTime: '2026-11-01T11:00:00Z' };
  schedules.find([cron('0 * * * *', last)], now);
  t.same(schedules.find([cron('5 * * * *', last)], new Date('2026-11-01T13:08:00Z')), []);
  t.match(schedules.find([cron('5 * * * *', last)], new Date('2026-11-01T14:12:00Z')), [{ kind: 'Function' }]);
  t.end();
});

t.test('nodes are listed again and again; a cluster without Node objects has none', async (t) => {
  const kube = fakeKube();
  const clock = fakeClock();
  const node = (name: string, ready: string, memory?: string) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name },
    status: {
      conditions: [{ type: 'Ready', status: ready }],
      addresses: [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'Hostname', address: name },
      ],
      ...(memory !== undefined && { allocatable: { cpu: '4', memory } }),
    },
  });
  kube.seed(node('n1', 'True', '16277536Ki'), node('n2', 'Unknown'));
  const nodes = createNodeList({ kube, clock, log: silentLog });
  t.teardown(() => nodes.stop());
  t.same(nodes.current(), []);
  nodes.start();
  await settle();
  t.same(nodes.current(), [
    { name: 'n1', ready: true, addresses: ['10.0.0.1'], memoryBytes: 16277536 * 1024 },
    { name: 'n2', ready: false, addresses: ['10.0.0.1'] },
  ]);
  kube.seed(node('n3', 'True'));
  await clock.advance(15_000);
  t.equal(nodes.current().length, 3);
  kube.intercept = () => {
    throw new KubeError(404, 'NotFound', 'no such kind');
  };
  await clock.advance(15_000);
  t.equal(nodes.current().length, 3, 'the last list is kept');
});

t.test('every scrape reads what the watches hold', async (t) => {
  const registry = new Registry();
  const clock = fakeClock(now);
  const object = (kind: string, name: string, namespace: string, spec: object, status: object) => ({
    apiVersion: 'apps/v1',
    kind,
    metadata: { name, namespace, uid: name, resourceVersion: '1' },
    spec,
    status,
  });
  const claim = { spec: { resources: { requests: { storage: '5Gi' } } } };
  const state = {
    pods: () => [pod()],
    cronJobs: () => [],
    deployments: () => [
      object('Deployment', 'svc-authz', 'svc-system', { replicas: 2 }, { readyReplicas: 1 }),
      object('Deployment', 'api', 'shop-prod', { replicas: 9 }, {}),
    ],
    statefulSets: () => [
      object('StatefulSet', 'svc-postgres', 'svc-system', { replicas: 1, volumeClaimTemplates: [claim] }, {}),
    ],
    nodes: () => [{ name: 'n1', ready: false, addresses: [] }],
  } as unknown as ObservedState;
  exportState(registry, state, clock);
  const samples = (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  t.same(samples.sort(), [
    'svc_node_ready{name="n1"} 0',
    'svc_process_ready_replicas{name="svc-authz"} 1',
    'svc_process_ready_replicas{name="svc-postgres"} 0',
    'svc_process_replicas{name="svc-authz"} 2',
    'svc_process_replicas{name="svc-postgres"} 1',
    'svc_read_only_filesystem_info{namespace="shop-prod",kind="App",name="api",line="write /data/x: Read-only file system",volumes="uploads"} 1',
    'svc_read_only_filesystem{namespace="shop-prod",kind="App",name="api"} 1',
    'svc_store_capacity_bytes{store="svc-postgres"} 5368709120',
  ]);
  state.pods = () => [];
  t.notMatch(await registry.metrics(), /line=/);
});
