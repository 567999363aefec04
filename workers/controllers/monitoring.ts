import type { V1DaemonSet, V1Deployment, V1StatefulSet } from '@kubernetes/client-node';
import type { MonitoringComponent } from '../../infra/manifests/monitoring/component.ts';
import { componentImage, monitoringComponents } from '../../infra/manifests/monitoring/components.ts';
import type { BuiltIn, KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { isPodLive, podFault, type Pod } from '../../runtime/contracts/pod.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import {
  isEnabled,
  memoryOf,
  type ComponentStatus,
  type MonitoringSettings,
} from '../../runtime/contracts/resources/monitoring.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { appLabel, managedByLabel, managedByValue } from '../../runtime/domain/labels.ts';
import { componentNames, type ComponentName } from '../../runtime/domain/monitoring.ts';
import { applyObject, ChildError, deleteChild, NotYetError, refOf } from '../../runtime/kube/children.ts';
import { managedSelection } from '../../runtime/kube/controller.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { resourceOf } from '../../runtime/kube/resource-paths.ts';
import { decideRaise, killsIn } from './memory-raise.ts';

/** The result of one pass over all components. */
export interface MonitoringPass {
  statuses: ComponentStatus[];
  requeueAfterMs?: number;
}

type StatefulSet = BuiltIn<V1StatefulSet, 'spec'>;
type Workload = StatefulSet | BuiltIn<V1Deployment, 'spec'> | BuiltIn<V1DaemonSet, 'spec'>;

/** What runs the pods of a component. */
const workloadKinds = [kinds.StatefulSet, kinds.DaemonSet, kinds.Deployment];

/** How soon a component is looked at again while something of it is being deleted. */
const deletionPauseMs = 2_000;

/**
 * Makes the components of monitoring match the settings: applies the objects of those that are enabled, with their
 * memory limits, and deletes those of the others, with their data if the settings say so.
 */
export function createMonitoring({
  kube,
  clock,
}: {
  kube: Pick<KubeClient, 'get' | 'list' | 'create' | 'replace' | 'delete'>;
  clock: Clock;
}) {
  /** @param before the components as they were reported last */
  return async (settings: PlatformConfigSpec, before: readonly ComponentStatus[] = []): Promise<MonitoringPass> => {
    const { monitoring } = settings;
    if (!monitoring) return { statuses: [] };
    const manifests = monitoringComponents(monitoring);
    const listed = componentNames.flatMap((name) => {
      const component = manifests[name];
      const image = componentImage(name, monitoring);
      return component && image !== undefined ? [{ component, image }] : [];
    });
    const pods = await podsOf(listed.map(({ component }) => component.namespace));
    const statuses: ComponentStatus[] = [];
    const waits: number[] = [];
    for (const { component, image } of listed) {
      const own = pods.filter(
        ({ metadata: { namespace, labels } }) =>
          namespace === component.namespace && labels?.[appLabel] === component.name,
      );
      const last = before.find(({ name }) => name === component.name);
      const pass = await reconcile({ component, image, settings, pods: own, last });
      statuses.push(pass.status);
      if (pass.retryAfterMs !== undefined) waits.push(pass.retryAfterMs);
    }
    return { statuses, ...(waits.length > 0 && { requeueAfterMs: Math.min(...waits) }) };
  };

  async function podsOf(namespaces: readonly string[]): Promise<Stored<Pod>[]> {
    const lists = await Promise.all(
      [...new Set(namespaces)].map((namespace) => kube.list<Pod>(kinds.Pod, { namespace, ...managedSelection })),
    );
    return lists.flatMap(({ items }) => items);
  }

  async function reconcile(options: {
    component: MonitoringComponent;
    image: string;
    settings: PlatformConfigSpec;
    pods: readonly Stored<Pod>[];
    last: ComponentStatus | undefined;
  }): Promise<{ status: ComponentStatus; retryAfterMs?: number }> {
    const { component, image, settings, pods, last } = options;
    const { name } = component;
    const { raised, killedAt, notRaised } = last ?? {};
    const before = memoryOf(name, settings, raised);
    const enabled = isEnabled(name, settings);
    const decision = decideRaise({
      name,
      ...before,
      history: {
        ...(raised && { raised }),
        ...(killedAt !== undefined && { killedAt }),
        // A reason of another limit is history.
        ...(notRaised && last?.memory === before.limit && { notRaised }),
      },
      kills: enabled ? killsIn(pods) : [],
      now: clock.now(),
    });
    const memory = memoryOf(name, settings, decision.history.raised).limit;
    const common = { name, enabled, memory, ...decision.history };
    const waiting = (message: string) =>
      ({ ...common, ready: false, phase: enabled ? 'starting' : 'stopping', message }) as const;
    try {
      const objects = component.objects({ image, memory });
      if (!enabled) return { ...(await remove(objects, pods, settings.monitoring, name, common)) };
      for (const object of objects) await applyObject<KubeObject>(kube, object, { keep: keepClaims });
      const ready = await isReady(objects);
      const message = ready ? undefined : faultOf(pods);
      const phase = ready ? 'on' : message === undefined ? 'starting' : 'unhealthy';
      return {
        status: { ...common, ready, phase, ...(message !== undefined && { message }) },
        ...(decision.retryAfterMs !== undefined && { retryAfterMs: decision.retryAfterMs }),
      };
    } catch (error) {
      // One component that cannot be changed must not stop the others.
      if (error instanceof NotYetError) return { status: waiting(error.message), retryAfterMs: deletionPauseMs };
      if (!(error instanceof ChildError)) throw error;
      return { status: { ...common, ready: false, phase: 'unhealthy', message: error.message } };
    }
  }

  async function remove(
    objects: readonly KubeObject[],
    pods: readonly Stored<Pod>[],
    monitoring: MonitoringSettings | undefined,
    name: ComponentName,
    common: Omit<ComponentStatus, 'ready' | 'phase'>,
  ): Promise<{ status: ComponentStatus; retryAfterMs?: number }> {
    const disabled = { ...common, ready: false, phase: 'disabled' } as const;
    const stopping = (message: string) =>
      ({ status: { ...disabled, phase: 'stopping', message }, retryAfterMs: deletionPauseMs }) as const;
    let gone = true;
    for (const object of objects.toReversed()) gone = (await deleteChild(kube, undefined, refOf(object))) && gone;
    if (!gone || pods.length > 0) return stopping('its pods are stopping');
    const claims = claimsOf(objects);
    const live = await Promise.all(
      claims.map((ref) => kube.get(kinds.PersistentVolumeClaim, ref.metadata.name, ref.metadata.namespace)),
    );
    const hasData = live.some((claim) => claim?.metadata.labels?.[managedByLabel] === managedByValue);
    if (!hasData) return { status: disabled };
    if (monitoring?.components?.[name]?.deleteData !== true)
      return { status: { ...disabled, message: 'its data is kept' } };
    for (const claim of claims) gone = (await deleteChild(kube, undefined, refOf(claim))) && gone;
    return gone ? { status: disabled } : stopping('its data is being deleted');
  }

  async function isReady(objects: readonly KubeObject[]): Promise<boolean> {
    const workloads = objects.filter(({ kind }) => workloadKinds.some((workload) => workload.kind === kind));
    const live = await Promise.all(
      workloads.map((object) =>
        kube.get<Workload>(resourceOf(object), object.metadata.name, object.metadata.namespace),
      ),
    );
    return live.every(isRolledOut);
  }
}

/** The claims that StatefulSets make of their templates, which Kubernetes keeps when the StatefulSet is deleted. */
function claimsOf(objects: readonly KubeObject[]): KubeObject[] {
  return objects
    .filter(({ kind }) => kind === 'StatefulSet')
    .flatMap(({ metadata, spec }) =>
      ((spec as StatefulSet['spec']).volumeClaimTemplates ?? []).map((template) => ({
        apiVersion: kinds.PersistentVolumeClaim.apiVersion,
        kind: kinds.PersistentVolumeClaim.kind,
        metadata: {
          name: `${template.metadata?.name}-${metadata.name}-0`,
          ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
        },
      })),
    );
}

/** Keeps a StatefulSet's claims: the API server adds defaults, and rejects any change. */
function keepClaims(live: KubeObject, desired: KubeObject): KubeObject {
  if (desired.kind !== 'StatefulSet') return desired;
  const { volumeClaimTemplates } = live.spec as StatefulSet['spec'];
  return { ...desired, spec: { ...(desired.spec as object), volumeClaimTemplates } };
}

/** Whether all pods of a workload are ready and of its newest template. */
function isRolledOut(workload: Workload | undefined): boolean {
  const { observedGeneration = 0 } = workload?.status ?? {};
  if (!workload?.status || observedGeneration < (workload.metadata.generation ?? 0)) return false;
  const { status } = workload;
  if ('desiredNumberScheduled' in status) {
    const { desiredNumberScheduled: desired, updatedNumberScheduled = 0, numberReady } = status;
    return desired > 0 && updatedNumberScheduled === desired && numberReady === desired;
  }
  const desired = 'replicas' in workload.spec ? (workload.spec.replicas ?? 1) : 1;
  const {
    updatedReplicas = 0,
    readyReplicas = 0,
    replicas = 0,
  } = status as { updatedReplicas?: number; readyReplicas?: number; replicas?: number };
  return updatedReplicas === desired && readyReplicas === desired && replicas === desired;
}

/** Why the pods are not ready, if more waiting does not help. */
function faultOf(pods: readonly Stored<Pod>[]): string | undefined {
  const unscheduled = pods
    .flatMap(({ status }) => status?.conditions ?? [])
    .find(({ type, status }) => type === 'PodScheduled' && status === 'False');
  const fault = pods.filter(isPodLive).flatMap((pod) => podFault(pod) ?? [])[0];
  if (fault) {
    const cause = fault.outOfMemory === true ? 'killed for memory' : fault.message?.split('\n')[0]?.slice(0, 200);
    return cause === undefined ? fault.reason : `${fault.reason}: ${cause}`;
  }
  return unscheduled && `no node has room for it: ${unscheduled.message?.slice(0, 200) ?? 'unschedulable'}`;
}
