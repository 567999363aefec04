import type { BatchJob } from '../../infra/manifests/batch.ts';
import type { VolumeClaim } from '../../infra/manifests/volume.ts';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import { jobSpec } from '../../runtime/contracts/resources/job.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { podLabels } from '../../runtime/domain/labels.ts';
import { settleDeployments } from '../support/cluster.ts';
import type { FakeKube } from '../support/fake-kube.ts';
import { settings } from '../support/objects.ts';
import { fixedId } from '../support/state-space.ts';

const apiVersion = 'platform.svc/v1';
const place = (name: string, id: number) => ({
  name,
  namespace: 'shop-prod',
  labels: { 'platform.svc/id': fixedId(id) },
});
const release = (id: number, more: object = {}) => ({
  release: { generation: 3, deploymentId: fixedId(id), image: 'registry.test/shop/api:3', ...more },
});

/** The objects before any user's: the settings, and those that the cluster provides. */
export const ground: readonly KubeObject[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'svc-system' } },
  {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'fast' },
    volumeBindingMode: 'Immediate',
    allowVolumeExpansion: true,
  } as KubeObject,
  {
    apiVersion,
    kind: 'PlatformConfig',
    metadata: { name: 'platform' },
    spec: { ...settings, ingressAddress: 'http://traefik.edge.svc', serviceImages: { redis: 'registry.test/redis:1' } },
  },
  {
    apiVersion,
    kind: 'Project',
    metadata: { name: 'shop', labels: { 'platform.svc/id': fixedId(1) } },
    spec: {
      environments: [
        { name: 'prod', id: fixedId(2) },
        { name: 'test', id: fixedId(3), limits: { cpu: '2', memory: '4Gi', storage: '10Gi', pods: 20 } },
      ],
    },
  },
];

/** The objects that users create, each kind with the fields of that release. */
export const workloads: readonly KubeObject[] = [
  { apiVersion, kind: 'Volume', metadata: place('data', 10), spec: { size: '1Gi', accessMode: 'ReadWriteOnce' } },
  {
    apiVersion,
    kind: 'App',
    metadata: place('api', 20),
    spec: {
      image: 'registry.test/shop/api:1',
      port: 8080,
      replicas: 1,
      gate: { enabled: true },
      ...release(120, { digest: `sha256:${'a'.repeat(64)}` }),
    },
  },
  {
    apiVersion,
    kind: 'App',
    metadata: place('site', 21),
    spec: {
      image: 'registry.test/shop/site:1',
      port: 3000,
      replicas: 2,
      hostname: 'www.example.test',
      healthPath: '/healthz',
      ...release(121),
    },
  },
  {
    apiVersion,
    kind: 'App',
    metadata: place('new', 22),
    spec: { image: 'registry.test/shop/new:1', port: 8080, replicas: 1 },
  },
  {
    apiVersion,
    kind: 'Function',
    metadata: place('hello', 30),
    spec: {
      runtime: 'node',
      trigger: 'http',
      port: 8080,
      idleTimeoutSeconds: 300,
      code: 'export default () => "hello";',
    },
  },
  {
    apiVersion,
    kind: 'Function',
    metadata: place('busy', 31),
    spec: {
      runtime: 'node',
      trigger: 'http',
      port: 9000,
      idleTimeoutSeconds: 60,
      hostname: 'busy.example.test',
      code: 'export default async (request) => request.url;',
    },
  },
  {
    apiVersion,
    kind: 'Function',
    metadata: place('nightly', 32),
    spec: {
      runtime: 'node',
      trigger: 'cron',
      port: 8080,
      idleTimeoutSeconds: 300,
      schedule: '0 2 * * *',
      timeZone: 'Europe/Berlin',
      overlap: 'Forbid',
      code: 'export const handler = ({ time }) => console.log(time);',
      runRequests: [{ id: '00c0ffee01', at: '2026-01-01T00:00:00.000Z', by: 'ada@example.com' }],
    },
  },
  {
    apiVersion,
    kind: 'Job',
    metadata: place('report', 40),
    spec: jobSpec.parse({
      image: 'registry.test/shop/report:7',
      command: ['report', '--all'],
      env: [
        { name: 'MODE', value: 'full' },
        { name: 'EMPTY', value: '' },
      ],
      volumes: [{ name: 'data', path: '/data' }],
      memory: '512Mi',
      cpu: '0.5',
      schedule: '0 2 * * *',
      timeZone: 'Europe/Berlin',
      retries: 2,
      timeoutSeconds: 600,
      historyLimit: 3,
      runRequests: [{ id: '00c0ffee00', at: '2026-01-01T00:00:00.000Z', by: 'ada@example.com' }],
    }),
  },
  { apiVersion, kind: 'Job', metadata: place('once', 41), spec: jobSpec.parse({ image: 'registry.test/shop/once:1' }) },
  {
    apiVersion,
    kind: 'Service',
    metadata: place('orders', 50),
    spec: { type: 'postgres', external: { host: 'db.example.test', port: 5433, tls: true } },
  },
  { apiVersion, kind: 'Service', metadata: place('cache', 51), spec: { type: 'redis' } },
  {
    apiVersion,
    kind: 'Build',
    metadata: place('api-7', 60),
    spec: { app: 'api', source: { url: 'https://git.example.test/shop/api.git', commit: '0123abc' } },
  },
];

/** A pod of the app `site` that was killed for memory. */
export const killedPod: KubeObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'site-1',
    namespace: 'shop-prod',
    annotations: { 'platform.svc/release': '3' },
    labels: podLabels({ kind: 'App', name: 'site', id: fixedId(21) }, 'serve'),
  },
  spec: { containers: [{ name: 'app', resources: { limits: { memory: '256Mi' } } }] },
  status: {
    phase: 'Running',
    containerStatuses: [
      {
        name: 'app',
        ready: true,
        restartCount: 1,
        lastState: { terminated: { exitCode: 137, reason: 'OOMKilled', finishedAt: '2026-01-01T00:01:00Z' } },
      },
    ],
  },
};

/** Does what Kubernetes' own controllers do: pods are ready at once, runs succeed, storage is provided. */
export async function settleCluster(kube: FakeKube): Promise<void> {
  await settleDeployments(kube);
  for (const run of kube.all<BatchJob>(kinds.BatchJob)) {
    if (run.status?.conditions) continue;
    const at = run.metadata.creationTimestamp ?? '';
    const conditions = [{ type: 'Complete', status: 'True', lastTransitionTime: at }];
    const ended = { startTime: at, completionTime: at, succeeded: 1, conditions };
    await kube.replaceStatus<BatchJob>({ ...run, status: ended });
  }
  for (const claim of kube.all<VolumeClaim>(kinds.PersistentVolumeClaim)) {
    const { storage } = claim.spec.resources.requests;
    if (claim.status?.capacity?.storage === storage) continue;
    const spec = { ...claim.spec, storageClassName: 'fast', volumeName: 'pv-1' };
    const bound = await kube.replace<VolumeClaim>({ ...claim, spec });
    await kube.replaceStatus<VolumeClaim>({ ...bound, status: { phase: 'Bound', capacity: { storage } } });
  }
}
