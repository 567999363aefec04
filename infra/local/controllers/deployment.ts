import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { findCondition, mergeConditions, type ConditionState } from '../../../runtime/kube/conditions.ts';
import type { ControllerDefinition, WatchDefinition } from '../../../runtime/kube/controller.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../../runtime/kube/status.ts';
import { replicaFailure, timestamp, type Deployment, type ReplicaSet } from './objects.ts';
import { beside, childrenOf, contentHash, controlledBy, controlled, remove } from './pods.ts';
import { nextCounts, roomOf } from './rolling-update.ts';

type Status = NonNullable<Deployment['status']>;

const hashLabel = 'pod-template-hash';
const revisionAnnotation = 'deployment.kubernetes.io/revision';
const revisionOf = (set: ReplicaSet) => Number(set.metadata.annotations?.[revisionAnnotation] ?? 0);
const wantedBy = (set: ReplicaSet) => set.spec.replicas ?? 1;
const deadlineExceeded = 'ProgressDeadlineExceeded';
const deadlineMs = ({ spec }: Deployment) => (spec.progressDeadlineSeconds ?? 600) * 1000;

/** Brings a Deployment's pods to its template, one ReplicaSet a template; a failed rollout is reported and not undone. */
export function deploymentController(kube: KubeClient, clock: Clock): ControllerDefinition<Deployment> {
  const scale = async (set: Stored<ReplicaSet>, replicas: number): Promise<void> => {
    if (wantedBy(set) !== replicas) await kube.replace({ ...set, spec: { ...set.spec, replicas } });
  };

  /** The ReplicaSet of the present template, which is the newest revision from then on. */
  const currentSet = async (deployment: Stored<Deployment>, sets: readonly Stored<ReplicaSet>[]) => {
    const hash = contentHash(deployment.spec.template);
    const found = sets.find(({ metadata }) => metadata.labels?.[hashLabel] === hash);
    const newest = Math.max(0, ...sets.map(revisionOf));
    if (found && revisionOf(found) === newest) return found;
    const revision = { [revisionAnnotation]: String(newest + 1) };
    if (!found) return kube.create(replicaSetOf(deployment, hash, revision));
    const annotations = { ...found.metadata.annotations, ...revision };
    return kube.replace({ ...found, metadata: { ...found.metadata, annotations } });
  };

  const rollOut = async (
    { spec: { replicas: wanted = 1, strategy } }: Deployment,
    current: Stored<ReplicaSet>,
    old: Stored<ReplicaSet>[],
  ) => {
    if (strategy?.type === 'Recreate') {
      for (const set of old) await scale(set, 0);
      // Pods that are still going count: their volumes and ports are not free before they are gone.
      const pods = (
        await Promise.all(old.map((set) => controlled(kube, kinds.Pod, set, set.spec.selector.matchLabels)))
      ).flat();
      if (pods.length === 0) await scale(current, wanted);
      return;
    }
    const scaled = (set: ReplicaSet) => ({ replicas: wantedBy(set), available: set.status?.availableReplicas ?? 0 });
    const counts = nextCounts(wanted, roomOf(wanted, strategy?.rollingUpdate), scaled(current), old.map(scaled));
    await scale(current, counts.current);
    for (const [index, set] of old.entries()) await scale(set, counts.old[index] ?? 0);
  };

  return {
    name: 'deployment',
    kind: kinds.Deployment,
    watches: [childrenOf(kinds.ReplicaSet, kinds.Deployment), podsThatGo],
    async reconcile({ object }) {
      if (!object || object.metadata.deletionTimestamp !== undefined) return {};
      const sets = await controlled<ReplicaSet>(kube, kinds.ReplicaSet, object, object.spec.selector.matchLabels);
      const current = await currentSet(object, sets);
      const old = sets
        .filter(({ metadata }) => metadata.uid !== current.metadata.uid)
        .toSorted((a, b) => revisionOf(a) - revisionOf(b));
      await rollOut(object, current, old);
      const idle = old.filter((set) => wantedBy(set) === 0 && (set.status?.replicas ?? 0) === 0);
      const superfluous = idle.length - (object.spec.revisionHistoryLimit ?? 10);
      for (const set of idle.slice(0, Math.max(0, superfluous))) await remove(kube, set);
      const status = statusOf(object, current, old, clock.now());
      await writeStatus(kube, object, status);
      const progress = status.conditions?.find(({ type }) => type === 'Progressing');
      if (progress?.reason !== 'ReplicaSetUpdated') return {};
      const end = Date.parse(progress.lastUpdateTime ?? '') + deadlineMs(object);
      return { requeueAfterMs: Math.max(0, end - clock.now().getTime()) + 1000 };
    },
  };
}

/** A pod names its ReplicaSet only, whose name begins with the Deployment's; Recreate waits for pods to be gone. */
const podsThatGo: WatchDefinition = {
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
      ...beside(deployment),
      labels: { ...deployment.metadata.labels, ...labels },
      annotations,
      ownerReferences: [controlledBy(deployment)],
    },
    spec: {
      replicas: 0,
      selector: { matchLabels: { ...selector.matchLabels, [hashLabel]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
}

function statusOf(deployment: Stored<Deployment>, current: ReplicaSet, old: readonly ReplicaSet[], now: Date): Status {
  const { metadata, spec, status: before = {} } = deployment;
  const { replicas: wanted = 1, strategy } = spec;
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
    unavailableReplicas: Math.max(0, Math.max(replicas, wanted) - available),
  };
  const enough = available >= wanted - roomOf(wanted, strategy?.rollingUpdate).maxUnavailable;
  const availability: ConditionState = {
    type: 'Available',
    status: enough ? 'True' : 'False',
    reason: enough ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
    message: `Deployment ${enough ? 'has' : 'does not have'} minimum availability.`,
  };
  const [failure] = sets.flatMap(({ status }) => findCondition(status?.conditions, replicaFailure) ?? []);
  // A count of nothing may be left out.
  const moved = Object.entries(counts).some(([field, count]) => (before[field as keyof Status] ?? 0) !== count);
  const progress = progressOf(deployment, current, counts, moved, now);
  const states = [availability, ...(failure ? [failure] : []), progress].map((state) => {
    const last = before.conditions?.find(({ type }) => type === state.type);
    const same = last?.reason === state.reason && !(moved && state === progress);
    return { ...state, lastUpdateTime: (same && last.lastUpdateTime) || timestamp(now) };
  });
  const known = before.conditions?.filter(({ type }) => states.some((state) => state.type === type));
  return { ...counts, conditions: mergeConditions(known, states, now) };
}

/** `Progressing`: complete, under way, or without any change of the counts for longer than its deadline. */
function progressOf(
  deployment: Deployment,
  { metadata: { name } }: ReplicaSet,
  counts: Status,
  moved: boolean,
  now: Date,
): ConditionState {
  const { spec, status } = deployment;
  const { replicas: wanted = 1 } = spec;
  const before = status?.conditions?.find(({ type }) => type === 'Progressing');
  const sameSpec = counts.observedGeneration === status?.observedGeneration;
  const all = [counts.updatedReplicas, counts.replicas, counts.availableReplicas].every((count) => count === wanted);
  // One that was complete only loses or gains pods; that is no rollout.
  const complete = all || (sameSpec && before?.reason === 'NewReplicaSetAvailable');
  const since = Date.parse(before?.lastUpdateTime ?? now.toISOString());
  const expired = before?.reason === deadlineExceeded || now.getTime() - since >= deadlineMs(deployment);
  const late = !complete && !moved && expired;
  const [reason, what] = complete
    ? ['NewReplicaSetAvailable', 'has successfully progressed']
    : late
      ? [deadlineExceeded, 'has timed out progressing']
      : ['ReplicaSetUpdated', 'is progressing'];
  return {
    type: 'Progressing',
    status: late ? 'False' : 'True',
    reason,
    message: `ReplicaSet "${name}" ${what}.`,
  };
}
