import { z } from 'zod';
import type { WorkloadKind } from '../../domain/names.ts';
import type { KubeObject } from '../kubernetes.ts';

/**
 * Reserves a workload's name in its environment. It has the workload's name and is owned by the workload, so that deleting
 * the workload frees the name. Of several creations at the same time exactly one succeeds.
 */
export const workloadNameSpec = z.object({ kind: z.enum(['App', 'Function', 'Job', 'Service']), workloadId: z.uuid() });

export interface WorkloadName extends KubeObject {
  apiVersion: 'platform.svc/v1';
  kind: 'WorkloadName';
  spec: { kind: WorkloadKind; workloadId: string };
}

/**
 * Reserves a public host for one workload (decision 0001). It is cluster-scoped and named after the host. A namespaced object
 * cannot own it, so the workload's finalizer removes it.
 */
export const hostNameSpec = z.object({
  kind: z.enum(['App', 'Function', 'Job']),
  namespace: z.string(),
  name: z.string(),
  workloadId: z.uuid(),
});

export interface HostName extends KubeObject {
  apiVersion: 'platform.svc/v1';
  kind: 'HostName';
  spec: { kind: WorkloadKind; namespace: string; name: string; workloadId: string };
}
