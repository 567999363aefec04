import { z } from 'zod';
import type { WorkloadKind } from '../../domain/names.ts';
import type { KubeObject } from '../kubernetes.ts';

/**
 * Reserves a workload's name in its environment (spec.md §2.7): named after the workload, owned by it, so that deleting
 * the workload frees the name. Creation is the race that exactly one wins.
 */
export const workloadNameSpec = z.object({
  kind: z.enum(['App', 'Function', 'Job', 'Service']),
  workloadId: z.uuid(),
});

export interface WorkloadName extends KubeObject {
  apiVersion: 'platform.svc/v1';
  kind: 'WorkloadName';
  spec: { kind: WorkloadKind; workloadId: string };
}

/**
 * Claims a public host for one workload (decision 0001): cluster-scoped and named after the host. A namespaced owner
 * cannot own a cluster-scoped object, so the workload's finalizer removes it.
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
