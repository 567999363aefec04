import type { V1Container, V1PodSpec } from '@kubernetes/client-node';
import t from 'tap';
import { appDeployment } from '../../../infra/manifests/app.ts';
import { buildJob } from '../../../infra/manifests/build.ts';
import { functionSchedule, testRun } from '../../../infra/manifests/function-run.ts';
import { functionDeployment } from '../../../infra/manifests/function.ts';
import { jobSchedule, runJob } from '../../../infra/manifests/job.ts';
import { installation } from '../../../infra/manifests/platform/installation.ts';
import { serviceStatefulSet } from '../../../infra/manifests/service.ts';
import { storeServers } from '../../../infra/manifests/store-server.ts';
import type { Json } from '../../../runtime/contracts/kubernetes.ts';
import { jobSpec } from '../../../runtime/contracts/resources/job.ts';
import type { ServerType } from '../../../runtime/contracts/resources/platform-config.ts';

type PodSpec = Json<V1PodSpec>;

const id = '0190a0a0-0000-7000-8000-000000000001';
const identity = { id, name: 'api', namespace: 'shop-prod' };
const image = 'registry.test/api:1';
const request = { id: '00c0ffee00', at: '' };
const schedule = '0 2 * * *';

const runtimeDefault = { type: 'RuntimeDefault' };
/** What the pod security standard `restricted` requires of a container, and a read-only root file system. */
const restrictedContainer = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};
const unprivilegedUser = { runAsNonRoot: true, runAsUser: 10_001, runAsGroup: 10_001 };
const groupOfVolumes = { fsGroup: 10_001, fsGroupChangePolicy: 'OnRootMismatch' };

/** https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted */
const restrictedVolumes = new Set(['configMap', 'emptyDir', 'persistentVolumeClaim', 'projected', 'secret']);

interface Expectation {
  pod: object;
  /** The security context of each container by its name, init containers first. */
  containers: Record<string, object>;
  /** Whether the pod gets a token for the Kubernetes API. Default false. */
  token?: boolean;
  /** Containers that the environment's defaults limit. */
  unlimited?: string[];
}

/** A pod of an ordinary image, which may start as root: its environment enforces `baseline`. */
function ordinary(container: string): Expectation {
  return {
    pod: { seccompProfile: runtimeDefault },
    containers: { [container]: { allowPrivilegeEscalation: false } },
    unlimited: [container],
  };
}

function restricted(pod: object, ...containers: string[]): Expectation {
  return {
    pod: { ...unprivilegedUser, ...pod, seccompProfile: runtimeDefault },
    containers: Object.fromEntries(containers.map((name) => [name, restrictedContainer])),
  };
}

function check(
  name: string,
  spec: PodSpec | undefined,
  { pod, containers, token = false, unlimited = [] }: Expectation,
) {
  t.test(name, async (t) => {
    const all: V1Container[] = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
    t.strictSame(spec?.securityContext, pod);
    t.strictSame(
      all.map((container) => [container.name, container.securityContext]),
      Object.entries(containers),
    );
    t.equal(spec?.automountServiceAccountToken, token, 'token for the Kubernetes API');
    t.equal(spec?.enableServiceLinks, false, 'variables for other Services');
    for (const field of ['hostNetwork', 'hostPID', 'hostIPC', 'hostUsers'] as const) t.equal(spec?.[field], undefined);
    const volumes = (spec?.volumes ?? []).flatMap((volume) => Object.keys(volume)).filter((field) => field !== 'name');
    t.same(
      volumes.filter((source) => !restrictedVolumes.has(source)),
      [],
    );
    for (const { name: container, resources } of all) {
      if (unlimited.includes(container)) t.equal(resources?.limits, undefined);
      else t.match(resources?.limits, { memory: /^\d+[MG]i$/ }, `memory limit of ${container}`);
    }
  });
}

const { spec: app } = appDeployment({
  ...identity,
  spec: { port: 3000, replicas: 1 },
  release: { generation: 1, deploymentId: id, image },
});
check('app', app.template.spec, ordinary('app'));

const job = jobSpec.parse({ image });
check('job run', runJob(identity, job, {}, request).spec.template.spec, ordinary('job'));
check(
  'job schedule',
  jobSchedule(identity, { ...job, schedule }, {}).spec.jobTemplate.spec?.template.spec,
  ordinary('job'),
);

const code = { runtime: 'node' as const, code: 'export const handler = () => 1;', port: 3000 };
const dependent = { ...code, dependencies: ['left-pad@1.3.0'] };
const events = { type: 'redis' as const, source: 'cache', list: 'orders' };
check('function', functionDeployment(identity, code, { image }).spec.template.spec, restricted({}, 'function'));
check(
  'function from an image',
  functionDeployment(identity, { image, port: 3000 }, { image }).spec.template.spec,
  restricted({}, 'function'),
);
check(
  'function with dependencies',
  functionDeployment(identity, dependent, { image }).spec.template.spec,
  restricted(groupOfVolumes, 'dependencies', 'function'),
);
check(
  'function with an event source',
  functionDeployment(identity, { ...code, events }, { image }).spec.template.spec,
  restricted({}, 'function', 'svc-poll'),
);
check(
  'function schedule',
  functionSchedule(identity, { ...code, schedule }, { image }).spec.jobTemplate.spec?.template.spec,
  restricted({}, 'function'),
);
check(
  'function test run',
  testRun(identity, { ...code, schedule }, { image }, request).spec.template.spec,
  restricted({}, 'function'),
);

for (const type of Object.keys(storeServers) as ServerType[]) {
  const { spec } = serviceStatefulSet({ ...identity, type, storage: undefined, image, readySeconds: 5 });
  check(`service ${type}`, spec.template.spec, restricted(groupOfVolumes, type));
}

const build = buildJob(
  {
    apiVersion: 'platform.svc/v1',
    kind: 'Build',
    metadata: { name: 'build-1', namespace: 'svc-builds' },
    spec: { app: 'api', namespace: 'shop-prod', source: { url: 'https://git.test/api.git' } },
  },
  { image, registry: 'r.test/builds', baseImages: {} },
);
check('build', build.spec.template.spec, {
  pod: { ...unprivilegedUser, fsGroup: 10_001 },
  containers: {
    clone: { ...restrictedContainer, seccompProfile: runtimeDefault },
    build: {
      allowPrivilegeEscalation: true,
      capabilities: { drop: ['ALL'], add: ['SETGID', 'SETUID'] },
      seccompProfile: { type: 'Unconfined' },
    },
    push: { ...restrictedContainer, seccompProfile: runtimeDefault },
  },
});

const { stores, platform } = installation({
  appsDomain: 'apps.example.com',
  cluster: 'home',
  scheme: 'https',
  entryPoints: ['websecure'],
  optional: {},
  scrape: false,
  images: { platform: image, functionNode: image, postgres: image, redis: image },
  adminEmail: 'admin@example.com',
  failpoints: false,
});
const processes: Record<string, { before?: string; token: boolean }> = {
  'svc-postgres': { token: false },
  'svc-redis': { token: false },
  'console-api': { before: 'migrate', token: true },
  'svc-workers': { token: true },
  'svc-controllers': { token: true },
  'svc-authz': { token: false },
  'svc-interceptor': { token: true },
};
const pods = [...stores, ...platform].filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet');
t.same(
  pods.map(({ metadata }) => metadata.name),
  Object.keys(processes),
);
for (const { metadata, spec } of pods) {
  const { before, token = false } = processes[metadata.name] ?? {};
  const names = [...(before === undefined ? [] : [before]), metadata.name];
  const { template } = spec as { template: { spec: PodSpec } };
  check(`platform ${metadata.name}`, template.spec, { ...restricted(groupOfVolumes, ...names), token });
}
