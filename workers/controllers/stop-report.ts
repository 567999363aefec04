import type { Condition, KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { ResourceKind } from '../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { ChildError } from '../../runtime/kube/children.ts';
import { childrenAdoptedState, mergeConditions, reconcileFailed } from '../../runtime/kube/conditions.ts';
import type { EventRecorder } from '../../runtime/kube/events.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../runtime/kube/status.ts';

/** What every status has that a stopped pass writes. */
interface StoppableStatus {
  observedGeneration?: number;
  phase?: string;
  message?: string;
  conditions?: Condition[];
}

/**
 * Reports what stopped a pass where people look, when a person has to clear it up; the rest is the back-off's. What ran
 * before still runs, and the rest of the status stays as it was (spec.md §3.3).
 */
export function createStopReport(options: {
  kube: Pick<KubeClient, 'get' | 'replaceStatus'>;
  events: Pick<EventRecorder, 'record'>;
  clock: Clock;
}) {
  const { kube, events, clock } = options;
  return async (kind: ResourceKind, stopped: Stored<KubeObject>, error: unknown): Promise<void> => {
    if (!(error instanceof Problem || error instanceof ChildError)) return;
    const { name, namespace, uid } = stopped.metadata;
    // The pass may have written to the object before it was stopped.
    const live = await kube.get(kind, name, namespace);
    if (live?.metadata.uid !== uid) return;
    const { generation } = live.metadata;
    const status = (live.status ?? {}) as StoppableStatus;
    await writeStatus<KubeObject>(kube, live, {
      ...status,
      ...(generation !== undefined && { observedGeneration: generation }),
      phase: 'failed',
      message: error.message,
      conditions: mergeConditions(status.conditions, [childrenAdoptedState(generation, error.message)], clock.now()),
    });
    await events.record(live, { type: 'Warning', reason: reconcileFailed, message: error.message });
  };
}
