import type { Condition, KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import { kinds, workloadResources } from '../../runtime/contracts/resources/kinds.ts';
import { outOfMemoryCondition } from '../../runtime/contracts/resources/out-of-memory.ts';
import { appLabel, idLabel, kindLabel } from '../../runtime/domain/labels.ts';
import { formatBytes, parseBytes } from '../../runtime/domain/quantity.ts';
import { findCondition } from '../../runtime/kube/conditions.ts';
import type { ControllerDefinition } from '../../runtime/kube/controller.ts';
import type { EventRecorder } from '../../runtime/kube/events.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../runtime/kube/status.ts';

/** The kubelet's reason, which the condition and the Event use as well. */
const oomKilled = 'OOMKilled';
const stepBytes = 64 * 2 ** 20;

interface Kill {
  pod: string;
  container: string;
  /** The time of the kill, in whole seconds. */
  at: string;
  limit?: string;
}

/**
 * Watches the platform's pods for containers that were killed for memory, and records each kill once: as an Event, and
 * in the condition `OutOfMemory` of its workload, with the limit and the next one to try.
 */
export function podOomController(options: {
  kube: Pick<KubeClient, 'get' | 'list' | 'replaceStatus'>;
  events: Pick<EventRecorder, 'record'>;
}): ControllerDefinition<Pod> {
  const { kube, events } = options;
  return {
    name: 'PodOOM',
    kind: kinds.Pod,
    selection: { labelSelector: kindLabel },
    // Almost no pod has one, and pods change often.
    concerns: (pod) => killsOf(pod).length > 0,
    async reconcile({ object: changed, namespace = '' }) {
      if (!changed || killsOf(changed).length === 0) return;
      const workload = await workloadOf(kube, changed);
      if (!workload) return;
      // All pods of the workload in one reconcile, so that kills are recorded in order.
      const labelSelector = `${idLabel}=${workload.metadata.labels?.[idLabel] ?? ''}`;
      const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector });
      const { conditions } = (workload.status ?? {}) as { conditions?: Condition[] };
      const recorded = findCondition(conditions, outOfMemoryCondition);
      const fresh = items
        .flatMap(killsOf)
        .map((kill) => ({ at: kill.at, message: messageOf(kill) }))
        .sort((a, b) => a.at.localeCompare(b.at) || a.message.localeCompare(b.message))
        .filter(({ at, message }) => !recorded || isAfter({ at, message }, recorded));
      const last = fresh.at(-1);
      if (!last) return;
      const { generation } = workload.metadata;
      const condition: Condition = {
        type: outOfMemoryCondition,
        status: 'True',
        reason: oomKilled,
        message: last.message,
        lastTransitionTime: last.at,
        ...(generation !== undefined && { observedGeneration: generation }),
      };
      const otherConditions = (conditions ?? []).filter(({ type }) => type !== outOfMemoryCondition);
      // The Event first: after a crash it is repeated, which is harmless; in the other order it would be lost.
      for (const { message } of fresh) await events.record(workload, { type: 'Warning', reason: oomKilled, message });
      await writeStatus<KubeObject>(kube, workload, {
        ...(workload.status as object | undefined),
        conditions: [...otherConditions, condition],
      });
    },
  };
}

/** The next limit to try: 1.5 times as much, in steps of 64Mi. */
export function nextLimit(limit: string): string | undefined {
  const bytes = parseBytes(limit);
  return bytes === undefined ? undefined : formatBytes(Math.ceil((bytes * 1.5) / stepBytes) * stepBytes);
}

function killsOf({ metadata, spec, status }: Stored<Pod>): Kill[] {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return statuses.flatMap(({ name, state, lastState }) =>
    [lastState, state].flatMap((containerState) => {
      const { reason, finishedAt } = containerState?.terminated ?? {};
      if (reason !== oomKilled || finishedAt === undefined) return [];
      const limit = containers.find((container) => container.name === name)?.resources?.limits?.['memory'];
      return [{ pod: metadata.name, container: name, at: finishedAt, ...(limit !== undefined && { limit }) }];
    }),
  );
}

function messageOf({ pod, container, at, limit }: Kill): string {
  const killed = `The container "${container}" of pod ${pod} was killed at ${at}: `;
  if (limit === undefined) return `${killed}it has no memory limit, and the node ran out of memory.`;
  const next = nextLimit(limit);
  return `${killed}it used more memory than its limit of ${limit}${next === undefined ? '' : `; try ${next}`}.`;
}

/** Whether a kill is later than the recorded one; the message tells two kills in the same second apart. */
function isAfter({ at, message }: { at: string; message: string }, recorded: Condition): boolean {
  if (at !== recorded.lastTransitionTime) return at > recorded.lastTransitionTime;
  return message > recorded.message;
}

/** The workload of the pod, but not a later one with the same name. */
async function workloadOf(
  kube: Pick<KubeClient, 'get'>,
  { metadata: { labels = {}, namespace } }: Stored<Pod>,
): Promise<Stored<KubeObject> | undefined> {
  const resource = Object.values(workloadResources).find(({ kind }) => kind === labels[kindLabel]);
  const name = labels[appLabel];
  if (!resource || name === undefined) return undefined;
  const workload = await kube.get(resource, name, namespace);
  const isDeleting = workload?.metadata.deletionTimestamp !== undefined;
  return workload?.metadata.labels?.[idLabel] === labels[idLabel] && !isDeleting ? workload : undefined;
}
