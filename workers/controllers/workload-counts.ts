import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { isPodReady, restartsOf, type ContainerStatus, type Pod } from '../../runtime/contracts/pod.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { fairShare } from '../../runtime/domain/fair-share.ts';
import type { Informer } from '../../runtime/kube/informer.ts';
import { workloadOf, workloadOfReplica, type MetricWorkload } from '../../runtime/metrics/workload-of.ts';

/** A Deployment or StatefulSet. */
export interface ScaledObject extends KubeObject {
  spec?: { replicas?: number };
}

/** The counts of one workload. */
interface WorkloadCounts extends MetricWorkload {
  /** Pods that there should be; for a job, those that run. */
  replicas: number;
  readyReplicas: number;
  /** Since this process has started. */
  restarts: number;
  oomKills: number;
}

/** The restarts and kills of one pod. */
interface PodCounts {
  restarts: number;
  /** The end of the last kill for memory of each container. */
  kills: Map<string, string>;
}

/** Counts workloads from what the process watches. */
export interface Counts {
  /** The workloads that exist, and how many are left out because there are too many. */
  list(): { workloads: WorkloadCounts[]; omitted: number };
}

/** @param options.max workloads beyond it are left out, first those of the namespaces with most */
export function createCounts(options: {
  pods: Informer<Pod>;
  scaled: readonly Informer<ScaledObject>[];
  clock: Clock;
  max: number;
}): Counts {
  const { pods, scaled, clock, max } = options;
  const startedAt = clock.now().getTime();
  const podCounts = new Map<string, PodCounts>();
  const totals = new Map<string, { restarts: number; oomKills: number }>();

  const count = (pod: Stored<Pod>) => {
    const workload = workloadOf(pod.metadata);
    if (!workload) return;
    const { uid } = pod.metadata;
    const current = countsOf(pod);
    // What happened to a pod before this process has started was counted by the one before.
    const isOlder = Date.parse(pod.metadata.creationTimestamp ?? '') < startedAt;
    const before = podCounts.get(uid) ?? (isOlder ? current : { restarts: 0, kills: new Map<string, string>() });
    podCounts.set(uid, current);
    const total = totals.get(keyOf(workload)) ?? { restarts: 0, oomKills: 0 };
    total.restarts += Math.max(0, current.restarts - before.restarts);
    for (const [container, at] of current.kills) if (at > (before.kills.get(container) ?? '')) total.oomKills++;
    totals.set(keyOf(workload), total);
  };
  pods.onChange(({ type, object }) => {
    if (type === 'deleted') podCounts.delete(object.metadata.uid);
    else count(object);
  });

  return {
    list() {
      const entries = new Map<string, WorkloadCounts>();
      const entryOf = (workload: MetricWorkload) => {
        const key = keyOf(workload);
        const { restarts = 0, oomKills = 0 } = totals.get(key) ?? {};
        const entry = entries.get(key) ?? { ...workload, replicas: 0, readyReplicas: 0, restarts, oomKills };
        entries.set(key, entry);
        return entry;
      };
      for (const object of scaled.flatMap((informer) => informer.list())) {
        const workload = workloadOf(object.metadata);
        if (workload) entryOf(workload).replicas += object.spec?.replicas ?? 1;
      }
      for (const pod of pods.list()) {
        const workload = workloadOfReplica(pod);
        if (!workload) continue;
        const entry = entryOf(workload);
        if (isPodReady(pod)) entry.readyReplicas++;
        if (workload.kind === 'job') entry.replicas++;
      }
      for (const key of totals.keys()) if (!entries.has(key)) totals.delete(key);
      return limited([...entries.values()], max);
    },
  };
}

function limited(workloads: WorkloadCounts[], max: number): { workloads: WorkloadCounts[]; omitted: number } {
  if (workloads.length <= max) return { workloads, omitted: 0 };
  const groups = [...Map.groupBy(workloads, ({ namespace }) => namespace).values()];
  const sizes = groups.map(({ length }) => length);
  const share = fairShare(sizes, max);
  const selection = groups.flatMap((group) => group.slice(0, share));
  return { workloads: selection, omitted: workloads.length - selection.length };
}

function countsOf(pod: Pod): PodCounts {
  const { status } = pod;
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const kills = statuses.flatMap((container): [string, string][] => {
    const at = killedAt(container);
    return at === undefined ? [] : [[container.name, at]];
  });
  return { restarts: restartsOf(pod), kills: new Map(kills) };
}

/** The end of a container's newest run that was killed for memory. */
function killedAt({ state, lastState }: ContainerStatus): string | undefined {
  const ends = [state, lastState].flatMap((run) => {
    const { reason, finishedAt } = run?.terminated ?? {};
    return reason === 'OOMKilled' && finishedAt !== undefined ? [finishedAt] : [];
  });
  return ends.toSorted().at(-1);
}

function keyOf({ namespace, kind, name }: MetricWorkload): string {
  return `${namespace}/${kind}/${name}`;
}
