import type { Id } from './ids.ts';
import type { WorkloadKind } from './names.ts';

/** The API group of every custom resource of the platform (decision 0001). */
export const apiGroup = 'platform.svc';
/** The only version; fields are added, never removed (decision 0001). */
export const apiVersion = 'platform.svc/v1';
/** The namespace of the platform's processes. */
export const systemNamespace = 'svc-system';

/** The namespace of builds, separate from the platform and from workloads. */
export const buildNamespace = 'svc-builds';

export const managedByLabel = 'app.kubernetes.io/managed-by';
/** The value of the label managed-by on every object that the platform creates. */
export const managedByValue = 'kipper';
export const idLabel = 'platform.svc/id';
export const kindLabel = 'platform.svc/kind';
export const roleLabel = 'platform.svc/role';
export const appLabel = 'app';
/** On generic pods and their Deployment object: the digest of their template. A pod that becomes a function's loses it. */
export const warmLabel = 'platform.svc/warm';
/** A label that Kubernetes sets on the pods of a batch Job: the Job's name. */
export const runLabel = 'batch.kubernetes.io/job-name';
/** A label that Kubernetes sets on nodes. */
export const hostnameLabel = 'kubernetes.io/hostname';
export const projectLabel = 'platform.svc/project';
export const environmentLabel = 'platform.svc/environment';
export const environmentIdLabel = 'platform.svc/environment-id';
/** On the pod template: the release generation that the pods run. */
export const releaseAnnotation = 'platform.svc/release';
/** On an app or job that was created with secrets, until they are stored: its first release or run waits for them. */
export const secretsExpectedAnnotation = 'platform.svc/secrets-expected';
/** On an App that a promotion created: what it promotes, see `contracts/resources/promotion.ts`. */
export const promotionAnnotation = 'platform.svc/promotion';
/** On an App: the email address of its creator, shown in the history for the first deployment. */
export const createdByAnnotation = 'platform.svc/created-by';
/** The finalizer of workloads, removed after their claims and records outside their namespace are deleted. */
export const workloadFinalizer = 'platform.svc/records';

/**
 * The purpose of a pod. Selectors of serving pods use it, because test and cron pods have the same `app` label.
 * `run` is a requested run of a job; scheduled runs are `cron`.
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

/** The selector of a workload's serving pods: app, kind and role. Immutable in a Deployment object. */
export function servingSelector(workload: { kind: WorkloadKind; name: string }): Record<string, string> {
  return { [appLabel]: workload.name, [kindLabel]: workload.kind, [roleLabel]: 'serve' };
}

/** The selector of a workload's serving pods of all releases. */
export function servingPods(id: Id): string {
  return `${idLabel}=${id},${roleLabel}=serve`;
}

/** Whether an object, such as a pod, belongs to a release. */
export function isOfRelease(
  metadata: { annotations?: Readonly<Record<string, string>> | undefined } | undefined,
  generation: number,
): boolean {
  return metadata?.annotations?.[releaseAnnotation] === String(generation);
}
