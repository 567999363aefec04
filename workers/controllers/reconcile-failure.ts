import type { Condition, KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { ResourceKind } from '../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { ChildError } from '../../runtime/kube/children.ts';
import { childrenAdoptedState, mergeConditions, reconcileFailed } from '../../runtime/kube/conditions.ts';
import type { EventRecorder } from '../../runtime/kube/events.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../runtime/kube/status.ts';

/** The status fields that every reconciled kind has. */
interface ReconciledStatus {
  observedGeneration?: number;
  phase?: string;
  message?: string;
  conditions?: Condition[];
}

/**
 * Reports an error that only a person can fix (a Problem or ChildError) in the object's status and as an Event. Other
 * errors are retried and not reported. The rest of the status stays, and existing pods keep running
 * (docs/reference/resources.md#conditions).
 */
export function createFailureReporter(options: {
  kube: Pick<KubeClient, 'get' | 'replaceStatus'>;
  events: Pick<EventRecorder, 'record'>;
  clock: Clock;
}) {
  const { kube, events, clock } = options;
  return async (kind: ResourceKind, object: Stored<KubeObject>, error: unknown): Promise<void> => {
    if (!(error instanceof Problem || error instanceof ChildError)) return;
    const { name, namespace, uid } = object.metadata;
    // The reconcile may have written to the object before it failed.
    const live = await kube.get(kind, name, namespace);
    if (live?.metadata.uid !== uid) return;
    const { generation } = live.metadata;
    const status = (live.status ?? {}) as ReconciledStatus;
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
