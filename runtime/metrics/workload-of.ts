import type { ObjectMeta } from '../contracts/kubernetes.ts';
import { appLabel, kindLabel } from '../domain/labels.ts';
import { metricKinds, type MetricKind } from './figures.ts';

/** A workload as metrics name it. */
export interface MetricWorkload {
  namespace: string;
  kind: MetricKind;
  name: string;
}

/** The workload to which an object belongs by its labels, which only the platform sets; undefined for others. Pure. */
export function workloadOf({ namespace, labels = {} }: ObjectMeta): MetricWorkload | undefined {
  const kind = metricKinds.find((word) => word === labels[kindLabel]?.toLowerCase());
  const name = labels[appLabel];
  return kind === undefined || name === undefined || namespace === undefined ? undefined : { namespace, kind, name };
}

/** The labels of a workload's series in Prometheus's text format. Names of Kubernetes objects need no escapes. Pure. */
export function labelsText({ namespace, kind, name }: MetricWorkload): string {
  return `{namespace="${namespace}",kind="${kind}",name="${name}"}`;
}
