import type { FunctionView } from '../../runtime/contracts/api/functions.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { lastOutOfMemory } from '../../runtime/contracts/resources/out-of-memory.ts';
import { environmentLabel, projectLabel } from '../../runtime/domain/labels.ts';
import { workloadIdOf } from '../../runtime/host/workload-objects.ts';

/** A function as the API shows it; never its code. `url` fills in before the controller has reported one. */
export function functionToView(object: Stored<FunctionResource>, url?: string): FunctionView {
  const { metadata, spec, status } = object;
  const shownUrl = status?.url ?? url;
  const killed = lastOutOfMemory(status);
  return {
    id: workloadIdOf(object),
    name: metadata.name,
    project: metadata.labels?.[projectLabel] ?? '',
    environment: metadata.labels?.[environmentLabel] ?? '',
    runtime: spec.runtime,
    trigger: spec.trigger,
    status: metadata.deletionTimestamp === undefined ? (status?.phase ?? 'pending') : 'deleting',
    ...(status?.message !== undefined && { message: status.message }),
    ...(killed && { outOfMemory: killed }),
    ...(shownUrl !== undefined && { url: shownUrl }),
    replicas: status?.replicas ?? 0,
    readyReplicas: status?.readyReplicas ?? 0,
    idleTimeoutSeconds: spec.idleTimeoutSeconds,
    createdAt: metadata.creationTimestamp ?? new Date(0).toISOString(),
  };
}
