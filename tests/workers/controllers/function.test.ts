import t from 'tap';
import { bindingSecretName } from '../../../runtime/workloads/bindings.ts';
import { ownedSecret } from '../../../runtime/workloads/owned-secret.ts';
import type { FunctionDeployment } from '../../../infra/manifests/function.ts';
import type { KubeObject, Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { HostName, WorkloadName } from '../../../runtime/contracts/resources/claims.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import type { FunctionResource } from '../../../runtime/contracts/resources/function.ts';
import { kinds, type ResourceKind } from '../../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfigSpec } from '../../../runtime/contracts/resources/platform-config.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { podLabels, workloadFinalizer, workloadLabels } from '../../../runtime/domain/labels.ts';
import { functionController } from '../../../workers/controllers/function.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { environmentId } from '../../support/objects.ts';
import { silentLog } from '../../support/log.ts';

const config: PlatformConfigSpec = {
  appsDomain: 'apps.test',
  cluster: 'home',
  scheme: 'https',
  entryPoints: ['websecure'],
  runtimeImages: { node: 'registry.test/function-node:1' },
  hostDomains: [{ domain: 'example.com' }, { domain: 'a.test' }],
};
const namespace = 'shop-prod';
const host = 'fn-hello--home.apps.test';

function createWorld() {
  const kube = fakeKube();
  const labels = {
    'platform.svc/project': 'shop',
    'platform.svc/environment': 'prod',
    'platform.svc/environment-id': environmentId,
  };
  for (const name of [namespace, 'other-prod']) {
    kube.seed({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } });
  }
  const projected: unknown[] = [];
  const deleted: string[] = [];
  const projectedBindings: (readonly object[])[] = [];
  const sources: unknown[] = [];
  let problem: string | undefined;
  const warnings: string[] = [];
  const probedHosts: string[] = [];
  const clock = fakeClock();
  let current: PlatformConfigSpec | undefined = config;
  const controller = functionController({
    kube,
    platformConfig: () => current,
    records: {
      project: (workload) => Promise.resolve(void projected.push(workload)),
      markDeleted: (id) => Promise.resolve(void deleted.push(id)),
      projectBindings: (_, bindings) => Promise.resolve(void projectedBindings.push(bindings)),
      projectEvents: (_, settings) => Promise.resolve(sources.push(settings) > 0 ? problem : undefined),
    },
    events: { record: (_, { message }) => Promise.resolve(void warnings.push(message)) },
    // Traefik's answer with the current route.
    probeGate({ hosts }) {
      probedHosts.push(...hosts);
      const gated = JSON.stringify(kube.all(kinds.IngressRoute)[0]?.spec ?? '').includes('"gate-');
      return Promise.resolve(gated ? { kind: 'refused' } : { kind: 'open', status: 404 });
    },
    clock,
  });
  const one = <T extends KubeObject>(kind: ResourceKind): Stored<T> => {
    const [object, ...more] = kube.all<T>(kind);
    if (!object || more.length > 0) throw new Error(`${kind.kind}: ${more.length} too many, or none`);
    return object;
  };
  const resource = () => one<FunctionResource>(kinds.Function);
  const reconcile = (object: Stored<FunctionResource> | undefined = kube.all<FunctionResource>(kinds.Function)[0]) =>
    controller.reconcile({ namespace, name: 'hello', object, log: silentLog, signal: new AbortController().signal });
  const create = (name = 'hello', at = namespace, id = newId()) => {
    kube.seed({
      apiVersion: 'platform.svc/v1',
      kind: 'Function',
      metadata: {
        name,
        namespace: at,
        finalizers: [workloadFinalizer],
        labels: { ...workloadLabels({ kind: 'Function', name, id }), ...labels },
      },
      spec: { runtime: 'node', code: 'first', trigger: 'http', port: 8080, idleTimeoutSeconds: 300 },
    });
    return id;
  };
  const seedPod = (
    id: string,
    name: string,
    status: Pod['status'],
    { code, template = '1', createdAt }: { code?: string; template?: string; createdAt?: string } = {},
  ) => {
    const own = podLabels({ kind: 'Function', name: 'hello', id }, 'serve');
    const pod: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name,
        namespace,
        labels: { ...own, 'pod-template-hash': template },
        ...(createdAt !== undefined && { creationTimestamp: createdAt }),
      },
      spec: {
        containers: [{ name: 'function' }],
        ...(code !== undefined && { volumes: [{ name: 'code', configMap: { name: code } }] }),
      },
      ...(status && { status }),
    };
    kube.seed(pod);
  };
  /** Reports what the Deployment controller would report. */
  const settleDeployment = async (replicas: number, ready: number, updated = replicas) => {
    const deployment = one<FunctionDeployment>(kinds.Deployment);
    await kube.replaceStatus({
      ...deployment,
      status: {
        observedGeneration: deployment.metadata.generation ?? 1,
        replicas,
        updatedReplicas: updated,
        readyReplicas: ready,
      },
    });
  };
  return {
    kube,
    one,
    resource,
    reconcile,
    create,
    seedPod,
    settleDeployment,
    projected,
    deleted,
    warnings,
    projectedBindings,
    probedHosts,
    clock,
    sources,
    failSource: (message: string | undefined) => (problem = message),
    configure: (next: PlatformConfigSpec | undefined) => (current = next),
  };
}

t.test('a new function gets its claims, record and objects, and is idle at zero replicas', async (t) => {
  const world = createWorld();
  const id = world.create();
  await world.reconcile();
  t.match(world.one<WorkloadName>(kinds.WorkloadName), { metadata: { name: 'hello' }, spec: { workloadId: id } });
  t.match(world.one<HostName>(kinds.HostName), { metadata: { name: host }, spec: { workloadId: id, namespace } });
  t.match(world.projected, [{ id, kind: 'Function', namespace, name: 'hello', project: 'shop', gated: false }]);
  t.match(world.one(kinds.ConfigMap), {
    data: { 'handler.js': 'first' },
    metadata: { ownerReferences: [{ name: 'hello' }] },
  });
  t.match(world.one(kinds.Deployment), { spec: { replicas: 0 }, metadata: { ownerReferences: [{ name: 'hello' }] } });
  t.match(world.one(kinds.IngressRoute), { metadata: { name: `fn-${id}`, namespace: 'svc-system' } });
  t.notOk(
    world.one(kinds.IngressRoute).metadata.ownerReferences,
    'an owner in another namespace would cause its garbage collection',
  );
  t.match(world.resource().status, {
    phase: 'idle',
    host,
    url: `https://${host}`,
    replicas: 0,
    readyReplicas: 0,
    observedGeneration: 1,
    conditions: [{ type: 'ChildrenAdopted', status: 'True' }],
  });

  const writes = () => world.kube.calls.filter(({ verb }) => verb !== 'get' && verb !== 'list').length;
  await world.settleDeployment(0, 0);
  const before = writes();
  await world.reconcile();
  t.equal(writes(), before, 'a pass without changes writes nothing');
});

t.test('the interceptors know the host before the route sends requests to them', async (t) => {
  const world = createWorld();
  world.create();
  await world.reconcile();
  const order = world.kube.calls.flatMap(({ verb, kind }) =>
    verb === 'replaceStatus' || (verb === 'create' && kind === 'IngressRoute') ? [kind] : [],
  );
  t.same(order, ['Function', 'IngressRoute']);
});

t.test('a new function starts with its minimum of pods, which the scaler sets from then on', async (t) => {
  const world = createWorld();
  world.create();
  const setMinimum = (minReplicas: number) =>
    world.kube.replace({ ...world.resource(), spec: { ...world.resource().spec, minReplicas } });
  await setMinimum(2);
  await world.reconcile();
  t.match(world.one(kinds.Deployment), { spec: { replicas: 2 } });
  t.match(world.resource().status, { phase: 'pending', replicas: 0 });
  const { resourceVersion } = world.one(kinds.Deployment).metadata;
  await setMinimum(0);
  await world.reconcile();
  t.equal(world.one(kinds.Deployment).metadata.resourceVersion, resourceVersion);
});

t.test('the controller keeps the replica count on every change, because the scaler sets it', async (t) => {
  const world = createWorld();
  const id = world.create();
  await world.reconcile();
  const scale = await world.kube.getScale(namespace, 'hello');
  if (scale) await world.kube.replaceScale(scale, 3);
  const resource = world.resource();
  await world.kube.replace({ ...resource, spec: { ...resource.spec, code: 'second', port: 9000 } });
  await world.reconcile();
  const deployment = world.one<FunctionDeployment>(kinds.Deployment);
  t.equal(deployment.spec.replicas, 3);
  t.match(deployment.spec, { template: { spec: { containers: [{ env: [{ name: 'PORT', value: '9000' }] }] } } });
  t.match(world.resource().status, { phase: 'pending' });
  world.seedPod(id, 'hello-1', { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] });
  await world.settleDeployment(3, 1);
  await world.reconcile();
  t.match(world.resource().status, { phase: 'running', replicas: 3, readyReplicas: 1 });
});

t.test('old code is deleted once the Deployment has changed and no pod mounts it', async (t) => {
  const world = createWorld();
  const id = world.create();
  await world.reconcile();
  const old = world.one(kinds.ConfigMap).metadata.name;
  world.seedPod(id, 'hello-old', { phase: 'Running' }, { code: old });
  const resource = world.resource();
  await world.kube.replace({ ...resource, spec: { ...resource.spec, code: 'second' } });
  const codes = () => world.kube.all(kinds.ConfigMap).map(({ metadata }) => metadata.name);
  await world.reconcile();
  t.equal(codes().length, 2, 'the Deployment has not changed yet');
  await world.settleDeployment(1, 1);
  await world.reconcile();
  t.equal(codes().length, 2, 'a pod mounts it');
  await world.kube.delete({ apiVersion: 'v1', kind: 'Pod', namespace, name: 'hello-old' });
  await world.reconcile();
  t.equal(codes().length, 1);
  t.not(codes()[0], old);
});

t.test('an image replaces code and deletes its object, and code replaces an image', async (t) => {
  const world = createWorld();
  world.create();
  await world.reconcile();
  const change = async (source: object) => {
    const { trigger, port, idleTimeoutSeconds } = world.resource().spec;
    await world.kube.replace({ ...world.resource(), spec: { trigger, port, idleTimeoutSeconds, ...source } });
    await world.reconcile();
    await world.settleDeployment(0, 0);
    await world.reconcile();
    const { template } = world.one<FunctionDeployment>(kinds.Deployment).spec as { template?: unknown };
    const codes = world.kube.all(kinds.ConfigMap).length;
    return { template, codes };
  };
  const image = 'registry.test/shop/resize:3';
  const moved = await change({ image });
  t.match(moved, { codes: 0, template: { spec: { containers: [{ image }], volumes: [{ name: 'tmp' }] } } });
  const back = await change({ runtime: 'node', code: 'second' });
  t.match(back, { codes: 1, template: { spec: { containers: [{ image: config.runtimeImages.node }] } } });
});

t.test('code that does not start makes the function failed, with the runtime’s message, until it starts', async (t) => {
  const world = createWorld();
  const id = world.create();
  await world.reconcile();
  const crashed = {
    exitCode: 1,
    message:
      '{"level":"info","msg":"x"}\n{"level":"fatal","msg":"the code could not be loaded: nothing is not defined"}\n',
  };
  world.seedPod(id, 'hello-1', {
    phase: 'Running',
    containerStatuses: [
      {
        name: 'function',
        ready: false,
        restartCount: 1,
        state: { waiting: { reason: 'CrashLoopBackOff' } },
        lastState: { terminated: crashed },
      },
    ],
  });
  await world.settleDeployment(1, 0);
  await world.reconcile();
  const message = 'The code failed to start (exit code 1): the code could not be loaded: nothing is not defined';
  t.match(world.resource().status, { phase: 'failed', message });
  await world.kube.delete({ apiVersion: 'v1', kind: 'Pod', namespace, name: 'hello-1' });
  await world.reconcile();
  t.match(world.resource().status, { phase: 'failed', message }, 'zero replicas do not clear the failure');
  const resource = world.resource();
  await world.kube.replace({ ...resource, spec: { ...resource.spec, code: 'repaired' } });
  await world.reconcile();
  t.match(world.resource().status, { phase: 'idle' });
  t.notOk(world.resource().status?.message);
});

t.test('a change that does not start is a failure, and the state of the previous pods does not matter', async (t) => {
  const world = createWorld();
  const id = world.create();
  await world.reconcile();
  const ready: Pod['status'] = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  const crashing = (message: string): Pod['status'] => ({
    phase: 'Running',
    containerStatuses: [
      {
        name: 'function',
        ready: false,
        restartCount: 1,
        state: { waiting: { reason: 'CrashLoopBackOff' } },
        lastState: { terminated: { exitCode: 1, message } },
      },
    ],
  });
  const change = async (code: string) => {
    const resource = world.resource();
    await world.kube.replace({ ...resource, spec: { ...resource.spec, code } });
    await world.reconcile();
  };
  const status = async () => {
    await world.reconcile();
    const { phase, message, updating } = world.resource().status ?? {};
    return { phase, message, updating };
  };
  const remove = (name: string) => world.kube.delete({ apiVersion: 'v1', kind: 'Pod', namespace, name });
  const calm = { message: undefined, updating: undefined };

  world.seedPod(id, 'one', ready, { template: '1', createdAt: '2026-11-22T10:00:00Z' });
  await world.settleDeployment(1, 1);
  t.same(await status(), { phase: 'running', ...calm });
  await change('second');
  t.match(await status(), { phase: 'running', updating: true }, 'the cluster has not observed the change');
  await world.settleDeployment(2, 1, 1);
  t.match(await status(), { phase: 'running', updating: true, message: undefined }, 'no pod is observed yet');
  world.seedPod(id, 'two', crashing('no such module'), { template: '2', createdAt: '2026-11-22T10:01:00Z' });
  t.same(await status(), {
    phase: 'failed',
    message: 'The code failed to start (exit code 1): no such module; the previous pods keep serving.',
    updating: undefined,
  });

  await remove('one');
  await change('third');
  t.match(await status(), { updating: true, message: undefined }, 'it crashed before the change');
  await world.settleDeployment(2, 0, 1);
  world.seedPod(id, 'three', { phase: 'Running' }, { template: '3', createdAt: '2026-11-22T10:02:00Z' });
  t.match(await status(), { updating: true, message: undefined });
  await remove('three');
  world.seedPod(id, 'three', ready, { template: '3', createdAt: '2026-11-22T10:02:00Z' });
  await remove('two');
  await world.settleDeployment(1, 1);
  t.same(await status(), { phase: 'running', ...calm });
});

t.test('dependencies come from the registry of the installation, with its CA certificates', async (t) => {
  const world = createWorld();
  world.configure({ ...config, packageRegistries: { npm: 'https://npm.example.com' }, caCertificates: 'PEM' });
  world.create();
  const { spec } = world.resource();
  await world.kube.replace({ ...world.resource(), spec: { ...spec, dependencies: ['lodash@4.17.21'] } });
  await world.reconcile();
  const template = JSON.stringify(world.one<FunctionDeployment>(kinds.Deployment).spec);
  t.match(template, '"npm_config_registry","value":"https://npm.example.com"');
  t.match(template, '"SVC_CA_CERTIFICATES","value":"PEM"');
});

t.test(
  'dependencies get a claim of their own, deleted with them; a failed installation makes the function failed',
  async (t) => {
    const world = createWorld();
    const id = world.create();
    const change = async (dependencies: string[] | undefined) => {
      const { dependencies: _, ...spec } = world.resource().spec;
      const next = { ...spec, ...(dependencies && { dependencies }) };
      await world.kube.replace({ ...world.resource(), spec: next });
      await world.reconcile();
    };
    const claims = () => world.kube.all(kinds.PersistentVolumeClaim).map(({ metadata }) => metadata.name);
    await world.reconcile();
    t.same(claims(), []);
    await change(['lodash@4.17.21']);
    const [first = ''] = claims();
    t.match(first, /^function-hello-dependencies-[0-9a-f]{12}$/);
    const { template } = world.one<FunctionDeployment>(kinds.Deployment).spec as { template?: unknown };
    t.match(template, {
      spec: {
        initContainers: [{ name: 'dependencies' }],
        volumes: [{ name: 'code' }, { persistentVolumeClaim: { claimName: first } }, { name: 'tmp' }],
      },
    });
    world.seedPod(id, 'hello-1', {
      phase: 'Pending',
      initContainerStatuses: [
        {
          name: 'dependencies',
          ready: false,
          restartCount: 1,
          state: { waiting: { reason: 'CrashLoopBackOff' } },
          lastState: {
            terminated: {
              exitCode: 1,
              message: 'WARNING: Retrying (4)\nWARNING: Retrying (3)\ncode E404\n404 Not Found - lodash@4.17.21\n',
            },
          },
        },
      ],
      containerStatuses: [
        { name: 'function', ready: false, restartCount: 0, state: { waiting: { reason: 'PodInitializing' } } },
      ],
    });
    await world.settleDeployment(1, 0);
    await world.reconcile();
    t.match(world.resource().status, {
      phase: 'failed',
      message: 'The dependencies cannot be installed: WARNING: Retrying (3); code E404; 404 Not Found - lodash@4.17.21',
    });
    await world.kube.delete({ apiVersion: 'v1', kind: 'Pod', namespace, name: 'hello-1' });
    await change(['lodash@4.17.20']);
    t.equal(claims().length, 2);
    await world.settleDeployment(0, 0);
    await world.reconcile();
    t.notOk(claims().includes(first));
    await change(undefined);
    await world.settleDeployment(0, 0);
    await world.reconcile();
    t.same(claims(), []);
  },
);

t.test('a name or host that another workload holds stops the pass before any object is created', async (t) => {
  const world = createWorld();
  const first = world.create('hello', 'other-prod');
  const [holder] = world.kube.all<FunctionResource>(kinds.Function);
  await world.reconcile(holder);
  const deployments = world.kube.all(kinds.Deployment).length;
  world.create();
  const loser = world.kube.all<FunctionResource>(kinds.Function).find((item) => item.metadata.namespace === namespace);
  await t.rejects(world.reconcile(loser), { code: 'host_taken' });
  const status = world.kube
    .all<FunctionResource>(kinds.Function)
    .find((item) => item.metadata.namespace === namespace)?.status;
  t.match(status, {
    phase: 'failed',
    message: /already used by a workload of another project/,
    conditions: [{ type: 'ChildrenAdopted', status: 'False', reason: 'ChildReconcileFailed' }],
  });
  t.notOk(status?.host, 'the interceptors must not route to it');
  t.equal(world.kube.all(kinds.Deployment).length, deployments);
  t.match(world.one<HostName>(kinds.HostName).spec, { workloadId: first });
  t.equal(world.warnings.length, 1);
});

t.test('a foreign object of the same name is reported and not changed', async (t) => {
  const world = createWorld();
  world.create();
  world.kube.seed({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'hello', namespace },
    spec: { replicas: 2 },
  });
  await t.rejects(world.reconcile(), { name: 'ForeignObjectError' });
  t.match(world.resource().status, { phase: 'failed', message: /Deployment "hello"/ });
  t.match(world.one<FunctionDeployment>(kinds.Deployment).spec, { replicas: 2 });
});

t.test('network access to the bound services is open as long as the binding exists', async (t) => {
  const world = createWorld();
  const id = world.create();
  const bind = async (...services: string[]) => {
    const bindings = services.map((service) => ({ service, version: 1 }));
    await world.kube.replace({ ...world.resource(), spec: { ...world.resource().spec, bindings } });
    await world.reconcile();
  };
  await world.reconcile();
  t.same(world.kube.all(kinds.NetworkPolicy), []);
  await bind('db', 'cache');
  const to = ['db', 'cache'].map((app) => ({ podSelector: { matchLabels: { 'platform.svc/kind': 'Service', app } } }));
  t.match(world.one(kinds.NetworkPolicy), {
    metadata: { name: 'function-hello', namespace, ownerReferences: [{ kind: 'Function' }] },
    spec: { podSelector: { matchLabels: { 'platform.svc/id': id } }, policyTypes: ['Egress'], egress: [{ to }] },
  });
  await bind();
  t.same(world.kube.all(kinds.NetworkPolicy), []);
});

t.test('a gate is turned on in the checkers first, then in the route, and off in the opposite order', async (t) => {
  const world = createWorld();
  const id = world.create();
  world.configure({ ...config, ingressAddress: 'http://traefik.test' });
  await world.reconcile();
  t.notOk(world.resource().status?.gate, 'it never had a gate');
  const names = () => world.kube.all(kinds.Middleware).map(({ metadata }) => metadata.name);
  t.same(names(), ['svc-retry', 'svc-strip', 'svc-strip-key']);
  const setGate = async (enabled: boolean) => {
    await world.kube.replace({ ...world.resource(), spec: { ...world.resource().spec, gate: { enabled } } });
    return world.reconcile();
  };
  const projected = () => (world.projected.at(-1) as { gated: boolean }).gated;
  const named = () => JSON.stringify(world.one(kinds.IngressRoute).spec).includes(`"gate-${id}"`);
  const gate = () => world.resource().status?.gate;

  t.match(await setGate(true), { requeueAfterMs: 500 });
  t.ok(projected() && named());
  t.same(names(), ['svc-retry', 'svc-strip', 'svc-strip-key', 'svc-gate-strip', `gate-${id}`]);
  t.match(world.kube.all(kinds.Middleware), [{ metadata: { namespace: 'svc-system' } }, {}, {}, {}]);
  t.equal(gate(), 'applying', 'the ingress was not seen to refuse');
  await world.reconcile();
  t.same(world.probedHosts, [host]);
  t.equal(gate(), 'gated');
  t.match(world.resource().status?.conditions, [{ type: 'ChildrenAdopted' }, { type: 'Gated', status: 'True' }]);
  const writes = () => world.kube.calls.filter(({ verb }) => verb !== 'get' && verb !== 'list').length;
  const before = writes();
  t.notOk(await world.reconcile());
  t.equal(writes(), before, 'a pass without changes writes nothing');

  await setGate(false);
  t.ok(projected() && !named(), 'the route has no gate, and the checkers still know the function');
  t.equal(gate(), 'lifting');
  await world.reconcile();
  t.equal(gate(), 'off');
  t.equal(world.kube.all(kinds.Middleware).length, 5);
  await world.clock.advance(15_000);
  await world.reconcile();
  t.notOk(projected());
  t.same(names(), ['svc-retry', 'svc-strip', 'svc-strip-key', 'svc-gate-strip']);
});

t.test('security headers have a Middleware while they are enabled, and it is deleted with the function', async (t) => {
  const world = createWorld();
  const id = world.create();
  const set = async (security: object) => {
    await world.kube.replace({ ...world.resource(), spec: { ...world.resource().spec, security } });
    await world.reconcile();
  };
  const names = () => world.kube.all(kinds.Middleware).map(({ metadata }) => metadata.name);
  await set({ headers: true, csp: ['cdn.example.com'] });
  t.same(names(), ['svc-retry', 'svc-strip', 'svc-strip-key', `security-${id}`]);
  t.match(world.one(kinds.IngressRoute).spec, {
    routes: [{ middlewares: [{ name: `security-${id}` }, { name: 'svc-strip' }] }],
  });
  await set({ headers: false });
  t.same(
    names(),
    ['svc-retry', 'svc-strip', 'svc-strip-key', `security-${id}`],
    'the ingress gets the new route first',
  );
  await world.reconcile();
  t.same(names(), ['svc-retry', 'svc-strip', 'svc-strip-key']);
  await set({ csp: [] });
  await world.kube.delete({ apiVersion: 'platform.svc/v1', kind: 'Function', namespace, name: 'hello' });
  await world.reconcile();
  t.same(
    [...names(), ...world.kube.all(kinds.Function)],
    ['svc-retry', 'svc-strip', 'svc-strip-key'],
    'all functions share these',
  );
});

t.test('another host changes claim, status and route, and releases the old host', async (t) => {
  const world = createWorld();
  world.create();
  await world.reconcile();
  const resource = world.resource();
  await world.kube.replace({ ...resource, spec: { ...resource.spec, hostname: 'hello.example.com' } });
  await world.reconcile();
  t.equal(world.one(kinds.HostName).metadata.name, 'hello.example.com');
  t.match(world.resource().status, { host: 'hello.example.com', url: 'https://hello.example.com' });
  t.match(world.one(kinds.IngressRoute), { spec: { routes: [{ match: 'Host(`hello.example.com`)' }] } });
});

t.test('deleting removes the route, the host and the record, then the finalizer', async (t) => {
  const world = createWorld();
  const id = world.create();
  await world.reconcile();
  await world.kube.delete({ apiVersion: 'platform.svc/v1', kind: 'Function', namespace, name: 'hello' });
  await world.reconcile();
  t.same(world.deleted, [id]);
  for (const kind of [
    kinds.Function,
    kinds.IngressRoute,
    kinds.HostName,
    kinds.WorkloadName,
    kinds.Deployment,
    kinds.ConfigMap,
  ]) {
    t.same(world.kube.all(kind), [], kind.kind);
  }
});

t.test('deletion does not need the installation’s settings; everything else waits for them', async (t) => {
  const world = createWorld();
  world.create();
  world.configure(undefined);
  t.match(await world.reconcile(), { requeueAfterMs: Number });
  t.same(world.kube.all(kinds.Deployment), []);
  await world.kube.delete({ apiVersion: 'platform.svc/v1', kind: 'Function', namespace, name: 'hello' });
  await world.reconcile();
  t.same(world.kube.all(kinds.Function), []);
});

t.test('bindings are queued, and the credentials of a removed binding are deleted', async (t) => {
  const world = createWorld();
  world.create();
  await world.reconcile();
  t.same(world.projectedBindings, [], 'without bindings nothing is queued');
  const ref = { apiVersion: 'platform.svc/v1', kind: 'Function', namespace, name: 'hello' };
  const cache = { service: 'cache', version: 1 };
  await world.kube.mergePatch(ref, { spec: { bindings: [{ service: 'orders', version: 2 }, cache] } });
  await world.reconcile();
  t.match(world.projectedBindings, [[{ service: 'orders', version: 2 }, cache]]);
  const reported = { service: 'orders', version: 2, phase: 'ready' } as const;
  const resource = world.resource();
  await world.kube.replaceStatus({ ...resource, status: { ...resource.status, bindings: [reported] } });
  await world.kube.create(ownedSecret(resource, bindingSecretName(resource, 'orders'), {}));
  await world.reconcile();
  t.match(world.resource().status, { phase: 'idle', bindings: [reported] }, 'the queue’s report is kept');
  await world.kube.mergePatch(ref, { spec: { bindings: [cache] } });
  await world.reconcile();
  t.same(world.kube.all(kinds.Secret), []);
  t.equal(world.resource().status?.bindings, undefined);
  await world.kube.delete(ref);
  await world.reconcile();
  await world.reconcile();
  t.same(world.projectedBindings.at(-1), [], 'a deleted function has none');
});

t.test('a function with only an event trigger has pods with the sidecar, and no route', async (t) => {
  const world = createWorld();
  const id = world.create();
  const ref = { apiVersion: 'platform.svc/v1', kind: 'Function', namespace, name: 'hello' };
  const events = { type: 'postgres', source: 'db', query: 'SELECT * FROM orders' } as const;
  const containers = () => {
    const { template } = world.one<FunctionDeployment>(kinds.Deployment).spec;
    return (template.spec as { containers: { name: string }[] }).containers.map(({ name }) => name);
  };
  await world.kube.mergePatch(ref, { spec: { events } });
  await world.reconcile();
  t.same(containers(), ['function', 'svc-poll']);
  t.match(world.resource().status, { host }, 'with the trigger http it has a route too');
  t.equal(world.kube.all(kinds.IngressRoute).length, 1);

  await world.kube.mergePatch(ref, { spec: { trigger: 'postgres', gate: { requireApiKey: true } } });
  await world.reconcile();
  t.same(containers(), ['function', 'svc-poll']);
  for (const kind of [kinds.IngressRoute, kinds.HostName]) t.same(world.kube.all(kind), [], kind.kind);
  t.same(
    world.kube.all(kinds.Middleware).filter(({ metadata }) => metadata.name.endsWith(id)),
    [],
  );
  t.match(world.projected.at(-1), { id, gated: false });
  const { status } = world.resource();
  t.match(status, { phase: 'idle', replicas: 0, readyReplicas: 0 });
  for (const field of ['host', 'url', 'gate', 'message']) t.notHas(status, field);
  t.notMatch(status?.conditions, [{ type: 'Gated' }]);

  world.failSource('The service does not answer (ECONNREFUSED).');
  await world.reconcile();
  t.match(world.resource().status, {
    phase: 'idle',
    message: 'Data source "db": The service does not answer (ECONNREFUSED).',
  });
  world.failSource(undefined);
  await world.settleDeployment(1, 1);
  await world.reconcile();
  t.match(world.resource().status, { phase: 'running', replicas: 1 });
  t.notHas(world.resource().status, 'message');

  await world.kube.mergePatch(ref, { spec: { trigger: 'http', events: null } });
  await world.reconcile();
  t.same(containers(), ['function']);
  t.match(world.resource().status, { host });
  t.match(world.sources.slice(-2), [events, undefined]);
  await world.kube.delete(ref);
  await world.reconcile();
  await world.reconcile();
  t.same([world.sources.at(-1), world.deleted], [undefined, [id]]);
});
