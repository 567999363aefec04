import type { Place } from '../api/queries.ts';

/** The kinds of workloads, which share variables, secrets and runs. */
export type WorkloadKind = 'app' | 'function' | 'job';

/** A workload by its name. */
export interface Workload {
  place: Place;
  kind: WorkloadKind;
  name: string;
}

/** The parts of a workload's path below its project. */
export function pathBelow({ kind, name }: Workload, ...below: readonly string[]): string[] {
  return [`${kind}s`, name, ...below];
}
