import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { findCondition, mergeConditions, type ConditionState } from '../../../runtime/kube/conditions.ts';
import type { ControllerDefinition, WatchDefinition } from '../../../runtime/kube/controller.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../../runtime/kube/status.ts';
import { replicaFailure, timestamp, type Deployment, type ReplicaSet } from './objects.ts';
import { namespaceOf, childrenOf, contentHash, listControlled, ownerReferenceTo, remove } from './pods.ts';
import { nextReplicas, rolloutLimits } from './rolling-update.ts';

type Status = NonNullable<Deployment['status']>;

const hashLabel = 'pod-template-hash';
const revisionAnnotation = 'deployment.kubernetes.io/revision';
const revisionOf = (set: ReplicaSet) => Number(set.metadata.annotations?.[revisionAnnotation] ?? 0);
const desiredReplicas = (set: ReplicaSet) => set.spec.replicas ?? 1;
const deadlineExceeded = 'ProgressDeadlineExceeded';
const deadlineMs = ({ spec }: Deployment) => (spec.progressDeadlineSeconds ?? 600) * 1000;

/**
 * Rolls a Deployment's pods to its template, with one ReplicaSet per template. A failed rollout is reported but not
 * undone.
 */
export function deploymentController(kube: KubeClient, clock: Clock): ControllerDefinition<Deployment> {
  const scale = async (set: Stored<ReplicaSet>, replicas: number): Promise<void> => {
    if (desiredReplicas(set) !== replicas) await kube.replace({ ...set, spec: { ...set.spec, replicas } });
  };

  /** The ReplicaSet of the current template, which becomes the newest revision. */
  const currentSet = async (deployment: Stored<Deployment>, sets: readonly Stored<ReplicaSet>[]) => {
    const hash = contentHash(deployment.spec.template);
    const existing = sets.find(({ metadata }) => metadata.labels?.[hashLabel] === hash);
    const newest = Math.max(0, ...sets.map(revisionOf));
    if (existing && revisionOf(existing) === newest) return existing;
    const revision = { [revisionAnnotation]: String(newest + 1) };
    if (!existing) return kube.create(replicaSetOf(deployment, hash, revision));
    const annotations = { ...existing.metadata.annotations, ...revision };
    return kube.replace({ ...existing, metadata: { ...existing.metadata, annotations } });
  };

  const rollOut = async (
    { spec: { replicas: desired = 1, strategy } }: Deployment,
    current: Stored<ReplicaSet>,
    old: Stored<ReplicaSet>[],
  ) => {
    if (strategy?.type === 'Recreate') {
      for (const set of old) await scale(set, 0);
      // Terminating pods count: they still hold their volumes and ports.
      const pods = (
        await Promise.all(old.map((set) => listControlled(kube, kinds.Pod, set, set.spec.selector.matchLabels)))
      ).flat();
      if (pods.length === 0) await scale(current, desired);
      return;
    }
    const scaled = (set: ReplicaSet) => ({
      replicas: desiredReplicas(set),
      available: set.status?.availableReplicas ?? 0,
    });
    const counts = nextReplicas(
      desired,
      rolloutLimits(desired, strategy?.rollingUpdate),
      scaled(current),
      old.map(scaled),
    );
    await scale(current, counts.current);
    for (const [index, set] of old.entries()) await scale(set, counts.old[index] ?? 0);
  };

  return {
    name: 'deployment',
    kind: kinds.Deployment,
    watches: [childrenOf(kinds.ReplicaSet, kinds.Deployment), terminatingPods],
    async reconcile({ object }) {
      if (!object || object.metadata.deletionTimestamp !== undefined) return {};
      const sets = await listControlled<ReplicaSet>(kube, kinds.ReplicaSet, object, object.spec.selector.matchLabels);
      const current = await currentSet(object, sets);
      const old = sets
        .filter(({ metadata }) => metadata.uid !== current.metadata.uid)
        .toSorted((a, b) => revisionOf(a) - revisionOf(b));
      await rollOut(object, current, old);
      const idle = old.filter((set) => desiredReplicas(set) === 0 && (set.status?.replicas ?? 0) === 0);
      const excess = idle.length - (object.spec.revisionHistoryLimit ?? 10);
      for (const set of idle.slice(0, Math.max(0, excess))) await remove(kube, set);
      const status = statusOf(object, current, old, clock.now());
      await writeStatus(kube, object, status);
      const progress = status.conditions?.find(({ type }) => type === 'Progressing');
      if (progress?.reason !== 'ReplicaSetUpdated') return {};
      const end = Date.parse(progress.lastUpdateTime ?? '') + deadlineMs(object);
      return { requeueAfterMs: Math.max(0, end - clock.now().getTime()) + 1000 };
    },
  };
}

/**
 * Strategy Recreate waits until old pods are gone. A pod's owner is the ReplicaSet, so the Deployment's name is taken
 * from the ReplicaSet's.
 */
const terminatingPods: WatchDefinition = {
  kind: kinds.Pod,
  keysOf(object) {
    const [owner] = childrenOf(kinds.Pod, kinds.ReplicaSet).keysOf(object, () => []);
    const hash = object.metadata.labels?.[hashLabel];
    if (object.metadata.deletionTimestamp === undefined || !owner || !hash) return [];
    return [{ ...owner, name: owner.name.slice(0, -hash.length - 1) }];
  },
};

function replicaSetOf(deployment: Stored<Deployment>, hash: string, annotations: Record<string, string>): ReplicaSet {
  const { selector, template } = deployment.spec;
  const labels = { ...template.metadata?.labels, [hashLabel]: hash };
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${deployment.metadata.name}-${hash}`,
      ...namespaceOf(deployment),
      labels: { ...deployment.metadata.labels, ...labels },
      annotations,
      ownerReferences: [ownerReferenceTo(deployment)],
    },
    spec: {
      replicas: 0,
      selector: { matchLabels: { ...selector.matchLabels, [hashLabel]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
}

function statusOf(deployment: Stored<Deployment>, current: ReplicaSet, old: readonly ReplicaSet[], now: Date): Status {
  const { metadata, spec, status: previous = {} } = deployment;
  const { replicas: desired = 1, strategy } = spec;
  const sets = [current, ...old];
  const sum = (field: 'replicas' | 'readyReplicas' | 'availableReplicas') =>
    sets.reduce((total, set) => total + (set.status?.[field] ?? 0), 0);
  const [replicas, available] = [sum('replicas'), sum('availableReplicas')];
  const counts = {
    ...(metadata.generation !== undefined && { observedGeneration: metadata.generation }),
    replicas,
    updatedReplicas: current.status?.replicas ?? 0,
    readyReplicas: sum('readyReplicas'),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, Math.max(replicas, desired) - available),
  };
  const isAvailable = available >= desired - rolloutLimits(desired, strategy?.rollingUpdate).maxUnavailable;
  const availability: ConditionState = {
    type: 'Available',
    status: isAvailable ? 'True' : 'False',
    reason: isAvailable ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
    message: `Deployment ${isAvailable ? 'has' : 'does not have'} minimum availability.`,
  };
  const [failure] = sets.flatMap(({ status }) => findCondition(status?.conditions, replicaFailure) ?? []);
  // A count of zero may be omitted.
  const countsChanged = Object.entries(counts).some(
    ([field, count]) => (previous[field as keyof Status] ?? 0) !== count,
  );
  const progress = progressOf(deployment, current, counts, countsChanged, now);
  const newConditions = [availability, ...(failure ? [failure] : []), progress].map((state) => {
    const last = previous.conditions?.find(({ type }) => type === state.type);
    const same = last?.reason === state.reason && !(countsChanged && state === progress);
    return { ...state, lastUpdateTime: (same && last.lastUpdateTime) || timestamp(now) };
  });
  const oldConditions = previous.conditions?.filter(({ type }) => newConditions.some((state) => state.type === type));
  return { ...counts, conditions: mergeConditions(oldConditions, newConditions, now) };
}

/**
 * The condition `Progressing`: complete, in progress, or without a change of the counts for longer than the deadline.
 */
function progressOf(
  deployment: Deployment,
  { metadata: { name } }: ReplicaSet,
  counts: Status,
  countsChanged: boolean,
  now: Date,
): ConditionState {
  const { spec, status } = deployment;
  const { replicas: desired = 1 } = spec;
  const previous = status?.conditions?.find(({ type }) => type === 'Progressing');
  const sameSpec = counts.observedGeneration === status?.observedGeneration;
  const all = [counts.updatedReplicas, counts.replicas, counts.availableReplicas].every((count) => count === desired);
  // Once complete, later changes of the number of pods are not a rollout.
  const complete = all || (sameSpec && previous?.reason === 'NewReplicaSetAvailable');
  const since = Date.parse(previous?.lastUpdateTime ?? now.toISOString());
  const expired = previous?.reason === deadlineExceeded || now.getTime() - since >= deadlineMs(deployment);
  const timedOut = !complete && !countsChanged && expired;
  const [reason, text] = complete
    ? ['NewReplicaSetAvailable', 'has successfully progressed']
    : timedOut
      ? [deadlineExceeded, 'has timed out progressing']
      : ['ReplicaSetUpdated', 'is progressing'];
  return { type: 'Progressing', status: timedOut ? 'False' : 'True', reason, message: `ReplicaSet "${name}" ${text}.` };
}
