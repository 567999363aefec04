import type { Condition, Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { findCondition, mergeConditions, type ConditionState } from '../../../runtime/kube/conditions.ts';
import type { ControllerDefinition } from '../../../runtime/kube/controller.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../../runtime/kube/status.ts';
import { replicaFailure, timestamp, type Deployment, type ReplicaSet } from './objects.ts';
import { childrenOf, contentHash, controlledBy, controlled, remove } from './pods.ts';
import { nextCounts, roomOf } from './rolling-update.ts';

const hashLabel = 'pod-template-hash';
const revisionAnnotation = 'deployment.kubernetes.io/revision';
const revisionOf = (set: ReplicaSet) => Number(set.metadata.annotations?.[revisionAnnotation] ?? 0);
const wantedBy = (set: ReplicaSet) => set.spec.replicas ?? 1;

/** Brings a Deployment's pods to its template, one ReplicaSet a template; a failed rollout is reported and not undone. */
export function deploymentController(kube: KubeClient, clock: Clock): ControllerDefinition<Deployment> {
  const scale = async (set: Stored<ReplicaSet>, replicas: number): Promise<Stored<ReplicaSet>> =>
    wantedBy(set) === replicas ? set : kube.replace({ ...set, spec: { ...set.spec, replicas } });

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

  const rollOut = async (deployment: Stored<Deployment>, current: Stored<ReplicaSet>, old: Stored<ReplicaSet>[]) => {
    const wanted = deployment.spec.replicas ?? 1;
    if (deployment.spec.paused) return;
    if (deployment.spec.strategy?.type === 'Recreate') {
      for (const set of old) await scale(set, 0);
      // Pods that are still going count: their volumes and ports are not free before they are gone.
      const pods = (await Promise.all(old.map((set) => controlled(kube, kinds.Pod, set)))).flat();
      if (pods.length === 0) await scale(current, wanted);
      return;
    }
    const scaled = (set: ReplicaSet) => ({ replicas: wantedBy(set), available: set.status?.availableReplicas ?? 0 });
    const room = roomOf(wanted, deployment.spec.strategy?.rollingUpdate);
    const counts = nextCounts(wanted, room, scaled(current), old.map(scaled));
    await scale(current, counts.current);
    for (const [index, set] of old.entries()) await scale(set, counts.old[index] ?? 0);
  };

  return {
    name: 'deployment',
    kind: kinds.Deployment,
    watches: [childrenOf(kinds.ReplicaSet, kinds.Deployment), podsOfSets()],
    async reconcile({ object }) {
      if (!object || object.metadata.deletionTimestamp !== undefined) return {};
      const sets = (await controlled<ReplicaSet>(kube, kinds.ReplicaSet, object, object.spec.selector)).toSorted(
        (a, b) => revisionOf(a) - revisionOf(b),
      );
      const current = await currentSet(object, sets);
      const old = sets.filter(({ metadata }) => metadata.uid !== current.metadata.uid);
      await rollOut(object, current, old);
      const idle = old.filter((set) => wantedBy(set) === 0 && (set.status?.replicas ?? 0) === 0);
      const superfluous = idle.length - (object.spec.revisionHistoryLimit ?? 10);
      for (const set of idle.slice(0, Math.max(0, superfluous))) await remove(kube, set);
      const status = statusOf(object, current, old, clock.now());
      await writeStatus(kube, object, status);
      const deadline = deadlineOf(object, status, clock.now());
      return deadline === undefined ? {} : { requeueAfterMs: deadline };
    },
  };
}

/** A pod names its ReplicaSet only, whose name begins with the Deployment's; Recreate waits for pods to be gone. */
function podsOfSets() {
  return {
    ...childrenOf(kinds.Pod, kinds.ReplicaSet),
    keysOf(...[object]: Parameters<ReturnType<typeof childrenOf>['keysOf']>) {
      if (object.metadata.deletionTimestamp === undefined) return [];
      const [owner] = childrenOf(kinds.Pod, kinds.ReplicaSet).keysOf(object, () => []);
      const hash = object.metadata.labels?.[hashLabel];
      return owner && hash ? [{ ...owner, name: owner.name.slice(0, -hash.length - 1) }] : [];
    },
  };
}

function replicaSetOf(deployment: Stored<Deployment>, hash: string, annotations: Record<string, string>): ReplicaSet {
  const { name, namespace, labels } = deployment.metadata;
  const { selector, template } = deployment.spec;
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${name}-${hash}`,
      ...(namespace !== undefined && { namespace }),
      labels: { ...labels, ...template.metadata?.labels, [hashLabel]: hash },
      annotations,
      ownerReferences: [controlledBy(deployment)],
    },
    spec: {
      replicas: 0,
      selector: { matchLabels: { ...selector.matchLabels, [hashLabel]: hash } },
      template: {
        ...template,
        metadata: { ...template.metadata, labels: { ...template.metadata?.labels, [hashLabel]: hash } },
      },
    },
  };
}

function statusOf(
  deployment: Stored<Deployment>,
  current: ReplicaSet,
  old: readonly ReplicaSet[],
  now: Date,
): NonNullable<Deployment['status']> {
  const { generation } = deployment.metadata;
  const wanted = deployment.spec.replicas ?? 1;
  const sum = (field: 'replicas' | 'readyReplicas' | 'availableReplicas') =>
    [current, ...old].reduce((total, set) => total + (set.status?.[field] ?? 0), 0);
  const replicas = sum('replicas');
  const available = sum('availableReplicas');
  const updated = current.status?.replicas ?? 0;
  const status = {
    ...(generation !== undefined && { observedGeneration: generation }),
    replicas,
    updatedReplicas: updated,
    readyReplicas: sum('readyReplicas'),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, Math.max(replicas, wanted) - available),
  };
  const enough = available >= wanted - roomOf(wanted, deployment.spec.strategy?.rollingUpdate).maxUnavailable;
  const complete = updated === wanted && replicas === wanted && available === wanted;
  const before = deployment.status;
  const progressed =
    status.observedGeneration !== before?.observedGeneration ||
    updated > (before?.updatedReplicas ?? 0) ||
    status.readyReplicas > (before?.readyReplicas ?? 0) ||
    available > (before?.availableReplicas ?? 0) ||
    replicas - updated < (before?.replicas ?? 0) - (before?.updatedReplicas ?? 0);
  const states: ConditionState[] = [
    {
      type: 'Available',
      status: enough ? 'True' : 'False',
      reason: enough ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
      message: `Deployment ${enough ? 'has' : 'does not have'} minimum availability.`,
    },
    ...failureOf([current, ...old]),
    progressOf(deployment, `ReplicaSet "${current.metadata.name}"`, { complete, progressed }, now),
  ];
  const conditions = mergeConditions(before?.conditions?.filter(isOf(states)), states, now).map((condition) =>
    withUpdateTime(condition, before?.conditions, progressed, now),
  );
  return { ...status, conditions };
}

/** Whether a condition is still one of these. */
function isOf(states: readonly ConditionState[]): (condition: Condition) => boolean {
  return (condition) => states.some(({ type }) => type === condition.type);
}

function failureOf(sets: readonly ReplicaSet[]): ConditionState[] {
  return sets
    .flatMap(({ status }) => findCondition(status?.conditions, replicaFailure) ?? [])
    .slice(0, 1)
    .map(({ type, status, reason, message }) => ({ type, status, reason, message }));
}

/** `Progressing`: complete, under way, or without progress for longer than its deadline. */
function progressOf(
  { spec, status }: Deployment,
  what: string,
  { complete, progressed }: { complete: boolean; progressed: boolean },
  now: Date,
): ConditionState {
  const type = 'Progressing';
  const before = status?.conditions?.find((condition) => condition.type === type);
  if (complete) {
    return { type, status: 'True', reason: 'NewReplicaSetAvailable', message: `${what} has successfully progressed.` };
  }
  const since = Date.parse(before?.lastUpdateTime ?? before?.lastTransitionTime ?? now.toISOString());
  const late = now.getTime() - since >= (spec.progressDeadlineSeconds ?? 600) * 1000;
  // One that was complete only loses or gains pods; that is no rollout.
  const rolling = before?.reason !== 'NewReplicaSetAvailable';
  if (late && rolling && !progressed && !spec.paused) {
    return {
      type,
      status: 'False',
      reason: 'ProgressDeadlineExceeded',
      message: `${what} has timed out progressing.`,
    };
  }
  if (before && !progressed) {
    return { type, status: before.status, reason: before.reason, message: before.message };
  }
  return { type, status: 'True', reason: 'ReplicaSetUpdated', message: `${what} is progressing.` };
}

function withUpdateTime(
  condition: Condition,
  before: readonly (Condition & { lastUpdateTime?: string })[] | undefined,
  progressed: boolean,
  now: Date,
): Condition & { lastUpdateTime: string } {
  const known = before?.find(({ type }) => type === condition.type);
  const same = known?.status === condition.status && known.reason === condition.reason;
  const moved = condition.type === 'Progressing' && progressed;
  return { ...condition, lastUpdateTime: (same && !moved && known.lastUpdateTime) || timestamp(now) };
}

/** Ms until the progress deadline of a rollout under way has to be looked at. */
function deadlineOf({ spec }: Deployment, status: NonNullable<Deployment['status']>, now: Date): number | undefined {
  const progress = status.conditions?.find(({ type }) => type === 'Progressing');
  if (progress?.reason !== 'ReplicaSetUpdated' || progress.lastUpdateTime === undefined) return undefined;
  const end = Date.parse(progress.lastUpdateTime) + (spec.progressDeadlineSeconds ?? 600) * 1000;
  return Math.max(0, end - now.getTime()) + 1000;
}
