import {
  codeConfigMap,
  codeConfigMapName,
  functionAnnotation,
  functionDeployment,
  functionRoute,
  functionRouteName,
  partLabel,
  type CodeConfigMap,
  type FunctionDeployment,
} from '../../infra/manifests/function.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import type { HostName } from '../../runtime/contracts/resources/claims.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import {
  appLabel,
  idLabel,
  kindLabel,
  managedLabels,
  roleLabel,
  systemNamespace,
  workloadFinalizer,
} from '../../runtime/domain/labels.ts';
import { checkHost, functionHost } from '../../runtime/domain/names.ts';
import { deleteChild, ensureChild, NotYetError, refOf } from '../../runtime/kube/children.ts';
import { releaseHosts, releaseName, releaseOtherHosts } from '../../runtime/kube/claims.ts';
import type { ControllerDefinition, Key } from '../../runtime/kube/controller.ts';
import type { EventRecorder } from '../../runtime/kube/events.ts';
import { removeFinalizer } from '../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../runtime/kube/status.ts';
import type { WorkloadProjection } from '../../runtime/records/workloads.ts';
import { observedStatus } from './function-status.ts';
import { createStopReport } from './stop-report.ts';
import { ensureIdentity, holdClaims, identityOf, type WorkloadIdentity } from './workload.ts';

/** Without the installation's settings nothing can be done; a change of them brings every function anyway. */
const configRetryMs = 5_000;

export interface FunctionControllerOptions {
  kube: KubeClient;
  /** The installation's settings, once there are some. */
  platformConfig: () => PlatformConfigSpec | undefined;
  /** What the controller writes into PostgreSQL; every call may be repeated. */
  records: { project(workload: WorkloadProjection): Promise<void>; markDeleted(id: Id): Promise<void> };
  events: Pick<EventRecorder, 'record'>;
  clock: Clock;
}

/**
 * Makes a Function real (design.md §5, §7): holds its name and host, projects it into the records, keeps ConfigMap,
 * Deployment and route as they should be, and reports its state. Replica counts it only ever reads.
 */
export function functionController(options: FunctionControllerOptions): ControllerDefinition<FunctionResource> {
  const { kube, platformConfig, records, clock } = options;
  const reportStop = createStopReport(options);

  const bringAbout = async (object: Stored<FunctionResource>, config: PlatformConfigSpec): Promise<void> => {
    const { workload: resource, identity } = await ensureIdentity(kube, object);
    const { spec } = resource;
    const host =
      spec.hostname === undefined
        ? functionHost(identity.name, config.cluster, config.appsDomain)
        : checkHost(spec.hostname);
    await holdClaims(kube, resource, [host]);
    await records.project({ ...identity, kind: 'Function', gated: false });
    await ensureChild(kube, resource, codeConfigMap(identity, spec), { cached: true });
    const wanted = functionDeployment(identity, spec, config.runtimeImages[spec.runtime]);
    const written = await ensureChild(kube, resource, wanted, {
      keep: (live, desired) => ({ ...desired, spec: { ...desired.spec, replicas: live.spec.replicas } }),
      cached: true,
    });
    const { deployment, pods } = await observe(identity, written === 'unchanged');
    // Before the route: the interceptors know the host by the status, and so before the first request comes.
    await writeStatus<FunctionResource>(
      kube,
      resource,
      observedStatus({ resource, host, config, deployment, pods, now: clock.now() }),
    );
    await ensureChild(kube, undefined, functionRoute(identity, host, config), { cached: true });
    // The host that the function had before serves until the route has moved.
    await releaseOtherHosts(kube, identity.id, [host], clock.now());
    if (deployment) await collectCode(resource, identity, deployment);
  };

  /** @param cached whether what the watches have brought will do: whatever is newer brings another pass */
  const observe = async ({ id, name, namespace }: WorkloadIdentity, cached: boolean) => {
    const seen = cached ? kube.cache?.get<FunctionDeployment>(kinds.Deployment, name, namespace) : undefined;
    const deployment = seen ?? (await kube.get<FunctionDeployment>(kinds.Deployment, name, namespace));
    const labels = { [kindLabel]: 'Function', [roleLabel]: 'serve', [idLabel]: id };
    const known = kube.cache?.list<Pod>(kinds.Pod, labels, namespace);
    if (known) return { deployment, pods: known };
    const labelSelector = Object.entries(labels).map(([label, value]) => `${label}=${value}`);
    const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector: labelSelector.join(',') });
    return { deployment, pods: items };
  };

  /** Old code goes once the Deployment has moved to the new and no pod, not even a going one, has the old mounted. */
  const collectCode = async (
    resource: Stored<FunctionResource>,
    { id, namespace, name }: WorkloadIdentity,
    deployment: Stored<FunctionDeployment>,
  ): Promise<void> => {
    const { observedGeneration, replicas = 0, updatedReplicas = 0 } = deployment.status ?? {};
    if (observedGeneration !== deployment.metadata.generation || replicas !== updatedReplicas) return;
    const labels = { ...managedLabels(), [idLabel]: id, [partLabel]: 'code' };
    const current = codeConfigMapName(name, resource.spec.code);
    const known = kube.cache?.list<CodeConfigMap>(kinds.ConfigMap, labels, namespace);
    if (known?.every(({ metadata }) => metadata.name === current)) return;
    const { items } = await kube.list<CodeConfigMap>(kinds.ConfigMap, {
      namespace,
      labelSelector: `${idLabel}=${id},${partLabel}=code`,
    });
    // Those of test runs too.
    const { items: pods } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector: `${idLabel}=${id}` });
    const used = new Set(pods.flatMap(({ spec }) => spec.volumes?.map(({ configMap }) => configMap?.name) ?? []));
    used.add(current);
    for (const { metadata } of items) {
      if (!used.has(metadata.name)) await deleteChild(kube, resource, refIn(namespace, kinds.ConfigMap, metadata.name));
    }
  };

  /** First nothing leads to the function any more; its own objects go before its name does. */
  const finalize = async (resource: Stored<FunctionResource>): Promise<void> => {
    const identity = identityOf(resource);
    if (identity) {
      const { id, name, namespace } = identity;
      const routeGone = await deleteChild(
        kube,
        undefined,
        refIn(systemNamespace, kinds.IngressRoute, functionRouteName(id)),
      );
      const deploymentGone = await deleteChild(kube, resource, refIn(namespace, kinds.Deployment, name));
      if (!routeGone || !deploymentGone) throw new NotYetError('objects of the function are still being deleted');
      await releaseHosts(kube, id);
      await records.markDeleted(id);
      await releaseName(kube, resource);
    }
    await removeFinalizer(kube, resource, workloadFinalizer);
  };

  return {
    name: 'Function',
    kind: kinds.Function,
    owns: [kinds.Deployment, kinds.ConfigMap],
    watches: [
      // Pods belong to a ReplicaSet, and a route in another namespace to nobody.
      {
        kind: kinds.Pod,
        selection: { labelSelector: `${kindLabel}=Function,${roleLabel}=serve` },
        keysOf: ({ metadata: { labels, namespace } }) => keyFrom(namespace, labels?.[appLabel]),
      },
      {
        kind: kinds.IngressRoute,
        selection: { namespace: systemNamespace, labelSelector: `${kindLabel}=Function` },
        keysOf: ({ metadata: { annotations } }) => keyFrom(...(annotations?.[functionAnnotation]?.split('/') ?? [])),
      },
      // A name or host that is given back may be one that a function waits for.
      { kind: kinds.WorkloadName, ignoreAdded: true, keysOf: (claim) => [keyOf(claim)] },
      {
        kind: kinds.HostName,
        ignoreAdded: true,
        keysOf: (host, functions) => [...holderOf(host), ...functions().filter(hasFailed).map(keyOf)],
      },
    ],
    async reconcile({ object: resource }) {
      if (!resource) return undefined;
      if (resource.metadata.deletionTimestamp !== undefined) return finalize(resource);
      const config = platformConfig();
      if (!config) return { requeueAfterMs: configRetryMs };
      try {
        return await bringAbout(resource, config);
      } catch (error) {
        await reportStop(kinds.Function, resource, error);
        throw error;
      }
    },
  };
}

/** A claim that is taken away from its holder is made again. */
function holderOf(host: Stored<KubeObject>): Key[] {
  const { kind, namespace, name } = (host as Stored<HostName>).spec;
  return kind === 'Function' ? [{ namespace, name }] : [];
}

function hasFailed({ status }: Stored<KubeObject>): boolean {
  return (status as FunctionResource['status'])?.phase === 'failed';
}

function refIn(namespace: string, { apiVersion, kind }: { apiVersion: string; kind: string }, name: string) {
  return refOf({ apiVersion, kind, metadata: { name, namespace } });
}

function keyFrom(namespace?: string, name?: string): Key[] {
  return namespace === undefined || name === undefined ? [] : [{ namespace, name }];
}

function keyOf({ metadata: { name, namespace } }: Stored<KubeObject>): Key {
  return { name, ...(namespace !== undefined && { namespace }) };
}
