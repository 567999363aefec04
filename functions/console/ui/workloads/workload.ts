import type { Place } from '../api/queries.ts';

/** The kinds of workloads, which share variables, secrets and runs. */
type WorkloadKind = 'app' | 'function' | 'job';

/** A workload by its name. */
export interface Workload {
  place: Place;
  kind: WorkloadKind;
  name: string;
}

/** What has metrics: a workload, or a service that the platform runs. */
export type Measured = Omit<Workload, 'kind'> & { kind: WorkloadKind | 'service' };

/** The parts of a workload's path below its project. */
export function pathBelow({ kind, name }: Measured, ...below: readonly string[]): string[] {
  return [`${kind}s`, name, ...below];
}
