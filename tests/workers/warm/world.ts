import { createHash } from 'node:crypto';
import { Registry } from 'prom-client';
import type { Test } from 'tap';
import { codeConfigMap } from '../../../infra/manifests/function-pod.ts';
import { functionDeployment, type FunctionDeployment } from '../../../infra/manifests/function.ts';
import { warmPool, warmTemplate } from '../../../infra/manifests/warm-pool.ts';
import type { KubeObject, Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import type { FunctionResource, FunctionSpec } from '../../../runtime/contracts/resources/function.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { WarmStart } from '../../../runtime/contracts/warm-start.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { kindLabel, managedLabels, projectLabel, workloadLabels } from '../../../runtime/domain/labels.ts';
import { managedSelection } from '../../../runtime/kube/controller.ts';
import { createInformers } from '../../../runtime/kube/informers.ts';
import type { WarmPod } from '../../../workers/warm/call.ts';
import { createWarmPools, type Quota } from '../../../workers/warm/pools.ts';
import { createWarmStarts } from '../../../workers/warm/starts.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { environmentId } from '../../support/objects.ts';

export const namespace = 'shop-prod';
export const token = 'token-of-the-environment';
const image = 'registry.test/function-node:1';
const code = 'export const handler = () => 1;';

/** A call of a generic pod. */
interface Call extends WarmPod {
  token: string;
  start: WarmStart;
}

/** An environment with functions at zero, and the parts that start them in generic pods. */
export async function warmWorld(t: Test, { size = 1 }: { size?: number } = {}) {
  const clock = fakeClock();
  const kube = fakeKube({ gracefulPods: true, now: () => clock.now() });
  const labels = { ...managedLabels(), [projectLabel]: 'shop', 'platform.svc/environment-id': environmentId };
  kube.seed({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } });
  const informers = createInformers({ kube, clock, log: silentLog });
  const functions = informers.of<FunctionResource>(kinds.Function);
  const deployments = informers.of<FunctionDeployment>(kinds.Deployment, managedSelection);
  const pods = informers.of<Pod>(kinds.Pod, { labelSelector: kindLabel });
  const quotas = informers.of<Quota>(kinds.ResourceQuota, managedSelection);
  const namespaces = informers.of<KubeObject>(kinds.Namespace, { labelSelector: projectLabel });
  const world = {
    kube,
    clock,
    size: size as number | undefined,
    calls: [] as Call[],
    /** Whether answers to patches of pods are lost. */
    loses: false,
    /** Answers calls. */
    answer: (): Promise<void> => Promise.resolve(),
    registry: new Registry(),
  };
  const mergePatch: typeof kube.mergePatch = async (...parameters) => {
    const patched = await kube.mergePatch<KubeObject>(...parameters);
    if (world.loses) throw new Error('socket hang up');
    return patched as never;
  };
  const common = {
    kube: { ...kube, mergePatch, cache: informers.cache },
    functions,
    deployments,
    pods,
    clock,
    log: silentLog,
  };
  const pools = createWarmPools({ ...common, namespaces, quotas, size: () => world.size });
  const starts = createWarmStarts({
    ...common,
    onFailure: (home) => pools.recheck(home),
    registry: world.registry,
    call(pod, bearer, start) {
      world.calls.push({ ...pod, token: bearer, start });
      return world.answer();
    },
  });

  /** Creates a function with its objects, at zero. */
  const addFunction = (name = 'hello', more: Partial<FunctionSpec> = {}, envSecret?: string) => {
    const id = newId();
    const spec = {
      trigger: 'http',
      runtime: 'node',
      code,
      port: 8080,
      idleTimeoutSeconds: 300,
      ...more,
    } as FunctionSpec;
    const identity = { id, name, namespace };
    const metadata = { name, namespace, labels: workloadLabels({ kind: 'Function', id, name }) };
    kube.seed({ apiVersion: 'platform.svc/v1', kind: 'Function', metadata, spec });
    const runWith = { image, ...(envSecret !== undefined && { envSecret }) };
    kube.seed(functionDeployment(identity, spec, runWith));
    if (spec.runtime !== undefined && spec.code !== undefined) {
      kube.seed(codeConfigMap(identity, { runtime: spec.runtime, code: spec.code }));
    }
    return identity;
  };
  const one = <T extends KubeObject>(kind: keyof typeof kinds, name: string): Stored<T> => {
    const object = kube.all<T>(kinds[kind]).find(({ metadata }) => metadata.name === name);
    if (!object) throw new Error(`there is no ${kind} ${name}`);
    return object;
  };
  const whole = Object.assign(world, {
    pools,
    starts,
    one,
    addFunction,
    deployment: (name = 'hello') => one<FunctionDeployment>('Deployment', name),
    poolsNow: () =>
      kube.all<FunctionDeployment>(kinds.Deployment).filter(({ metadata }) => metadata.name.startsWith('svc-warm-')),
    /** Whether the informer has a pool that meets the condition. */
    seesPool: (holds: (pool: FunctionDeployment) => boolean = () => true) =>
      deployments.listIn(namespace).some((each) => each.metadata.name.startsWith('svc-warm-') && holds(each)),
    podNamed: (name: string) => kube.all<Pod>(kinds.Pod).find(({ metadata }) => metadata.name === name),
    /** Creates a generic pod that runs, as the pool's ReplicaSet does, with its pool and the environment's token. */
    addGenericPod(
      name: string,
      of = 'hello',
      status: Pod['status'] = { podIP: '10.0.0.7', phase: 'Running' },
      node: string | null = 'node',
    ) {
      const template = warmTemplate(one<FunctionDeployment>('Deployment', of).spec.template, 'node');
      if (!template) throw new Error('the function starts cold');
      const digest = createHash('sha256').update(token).digest('hex');
      const deployment = warmPool(namespace, template, { replicas: 1, tokenDigest: digest });
      const exists = kube.all(kinds.Deployment).some(({ metadata }) => metadata.name === deployment.metadata.name);
      if (!exists) kube.seed(deployment);
      const pool = deployment.spec.template;
      const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'svc-warm', uid: 'set', controller: true };
      const containerStatuses = [{ name: 'function', ready: false, restartCount: 0, state: { running: {} } }];
      kube.seed({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name,
          namespace,
          labels: { ...pool.metadata.labels, 'pod-template-hash': 'abc' },
          ownerReferences: [owner],
        },
        spec: { ...pool.spec, ...(node !== null && { nodeName: node }) },
        status: { containerStatuses, ...status },
      });
      if (!kube.all(kinds.Secret).some(({ metadata }) => metadata.name === 'svc-warm')) {
        const data = { token: Buffer.from(token).toString('base64') };
        const secret = { name: 'svc-warm', namespace, labels: managedLabels() };
        kube.seed({ apiVersion: 'v1', kind: 'Secret', metadata: secret, data } as KubeObject);
      }
    },
    async scale(name: string, replicas: number) {
      const scale = await kube.getScale(namespace, name);
      if (scale) await kube.replaceScale(scale, replicas);
    },
    /** Reports the pods of a Deployment object as the cluster does. */
    async report(name: string, ready: number) {
      const live = one<FunctionDeployment>('Deployment', name);
      const { generation } = live.metadata;
      const counts = { replicas: 1, updatedReplicas: 1, readyReplicas: ready };
      await kube.replaceStatus({ ...live, status: { observedGeneration: generation, ...counts } } as typeof live);
    },
    async start() {
      informers.start();
      await informers.whenSynced();
      starts.start();
      t.teardown(async () => {
        await starts.stop();
        await informers.stop();
      });
    },
    /** Resolves when the condition holds. */
    async until(holds: () => boolean) {
      for (let tries = 0; tries < 500; tries++) {
        if (holds()) return;
        await new Promise((resolve) => setImmediate(resolve));
      }
      throw new Error('it does not happen');
    },
    startsBy: async (result: string) => {
      const { values } = (await world.registry.getSingleMetric('function_warm_starts_total')?.get()) ?? { values: [] };
      return values.find(({ labels: { result: of } }) => of === result)?.value ?? 0;
    },
    /** Starts a new function, hello, in the new generic pod generic-1. */
    async startInGenericPod() {
      addFunction();
      whole.addGenericPod('generic-1');
      await whole.start();
      await whole.scale('hello', 1);
      await whole.until(() => world.calls.length > 0);
    },
  });
  return whole;
}
