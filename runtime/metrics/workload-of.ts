import type { ObjectMeta } from '../contracts/kubernetes.ts';
import { isPodLive, type Pod } from '../contracts/pod.ts';
import { roleLabel } from '../domain/labels.ts';
import { workloadOfLabels } from '../domain/workload-labels.ts';
import type { MetricKind } from './figures.ts';

/** A workload as metrics name it. */
export interface MetricWorkload {
  namespace: string;
  kind: MetricKind;
  name: string;
}

/** The workload to which an object belongs by its labels, which only the platform sets; undefined for others. Pure. */
export function workloadOf({ namespace, labels }: ObjectMeta): MetricWorkload | undefined {
  const workload = workloadOfLabels(labels);
  return workload && namespace !== undefined ? { namespace, ...workload } : undefined;
}

/**
 * The workload that has a pod as a replica; undefined for a pod that ends, and for one-off runs and release commands, which
 * serve nothing. Pure.
 */
export function workloadOfReplica(pod: Pod): MetricWorkload | undefined {
  const workload = workloadOf(pod.metadata);
  const isRun = workload?.kind !== 'job' && pod.metadata.labels?.[roleLabel] === 'run';
  return isRun || !isPodLive(pod) ? undefined : workload;
}

/** The labels of a workload's series in Prometheus's text format. Names of Kubernetes objects need no escapes. Pure. */
export function labelsText({ namespace, kind, name }: MetricWorkload): string {
  return `{namespace="${namespace}",kind="${kind}",name="${name}"}`;
}
