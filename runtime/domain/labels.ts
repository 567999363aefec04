import type { Id } from './ids.ts';
import type { WorkloadKind } from './names.ts';

/** The API group of every custom resource of the platform (decision 0001). */
export const apiGroup = 'platform.svc';
/** The one version, only ever added to (decision 0001). */
export const apiVersion = 'platform.svc/v1';
/** The namespace in which the platform's own processes run. */
export const systemNamespace = 'svc-system';

/** The namespace in which images are built, apart from the platform and from what it runs. */
export const buildNamespace = 'svc-builds';

export const managedByLabel = 'app.kubernetes.io/managed-by';
/** The value that spec.md §3.3 gives for every object that the platform creates. */
export const managedByValue = 'kipper';
export const idLabel = 'platform.svc/id';
export const kindLabel = 'platform.svc/kind';
export const roleLabel = 'platform.svc/role';
export const appLabel = 'app';
/** The cluster's own, on nodes. */
export const hostnameLabel = 'kubernetes.io/hostname';
export const projectLabel = 'platform.svc/project';
export const environmentLabel = 'platform.svc/environment';
export const environmentIdLabel = 'platform.svc/environment-id';
/** On the pod template: the release generation that the pods run. */
export const releaseAnnotation = 'platform.svc/release';
/** On an App: the e-mail address of who created it, which the history tells with the first deployment. */
export const createdByAnnotation = 'platform.svc/created-by';
/** Held by workloads until their claims and records outside their namespace are gone. */
export const workloadFinalizer = 'platform.svc/records';

/**
 * What a pod is there for. Serving selectors use it, since test and cron pods carry the same `app` (design.md §7).
 * `run` is a job's run that somebody asked for; those of its schedule are `cron`.
 */
export type PodRole = 'serve' | 'cron' | 'run' | 'test' | 'build';

/** The labels of every object that the platform creates. */
export function managedLabels(): Record<string, string> {
  return { [managedByLabel]: managedByValue };
}

/** The labels of everything that belongs to one workload. */
export function workloadLabels(workload: { kind: WorkloadKind; name: string; id: Id }): Record<string, string> {
  return { ...managedLabels(), [appLabel]: workload.name, [kindLabel]: workload.kind, [idLabel]: workload.id };
}

/** The labels of a workload's pods of one role. */
export function podLabels(
  workload: { kind: WorkloadKind; name: string; id: Id },
  role: PodRole,
): Record<string, string> {
  return { ...workloadLabels(workload), [roleLabel]: role };
}

/** What selects a workload's serving pods: all three of app, kind and role, immutable in a Deployment. */
export function servingSelector(workload: { kind: WorkloadKind; name: string }): Record<string, string> {
  return { [appLabel]: workload.name, [kindLabel]: workload.kind, [roleLabel]: 'serve' };
}

/** Selects the pods that serve a workload, of whatever release. */
export function servingPods(id: Id): string {
  return `${idLabel}=${id},${roleLabel}=serve`;
}

/** Whether an object, such as a pod, is of a release of its app. */
export function isOfRelease(
  metadata: { annotations?: Readonly<Record<string, string>> | undefined } | undefined,
  generation: number,
): boolean {
  return metadata?.annotations?.[releaseAnnotation] === String(generation);
}
