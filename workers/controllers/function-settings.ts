import type { V1Container } from '@kubernetes/client-node';
import { functionContainer } from '../../infra/manifests/function-pod.ts';
import { restartAnnotation, type FunctionDeployment, type FunctionTemplate } from '../../infra/manifests/function.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { isPodLive, type Pod } from '../../runtime/contracts/pod.ts';
import type { StartSettings } from '../../runtime/contracts/resources/function.ts';
import { apiGroup } from '../../runtime/domain/labels.ts';
import { includesDesired } from '../../runtime/kube/covers.ts';
import { podsOfNewestTemplate } from './newest-pods.ts';

type Container = Pick<V1Container, 'name' | 'image' | 'envFrom' | 'resources'>;

/**
 * Annotation of a Deployment object: the limits that its pods do not have yet, and the lowest number of replicas since
 * these limits were requested.
 */
const waitingAnnotation = `${apiGroup}/waiting-limits`;

/**
 * The Deployment object to write over the live one. Keeps the replicas, which the scaler sets. While there are pods,
 * keeps their environment and limits, unless the pods are replaced anyway because of another change of the template,
 * or, for new limits, because there are more replicas than before (docs/reference/functions.md#scaling, decision 0032).
 * Pods of a function without pods in its last report are replaced too: a request may have started them just before the
 * current environment was written, which they were to start with (decision 0022). Pure.
 * @param reportedPods the pods in the function's last status
 */
export function mergedDeployment(
  live: Stored<FunctionDeployment>,
  desired: FunctionDeployment,
  reportedPods: number,
): FunctionDeployment {
  const { replicas, template } = live.spec;
  const next = { ...desired, spec: { ...desired.spec, replicas } };
  const noted = live.metadata.annotations?.[waitingAnnotation];
  const note = (deployment: FunctionDeployment, text: string): FunctionDeployment => {
    if (noted === undefined && text === '') return deployment;
    const { metadata } = deployment;
    const annotations = { ...metadata.annotations, [waitingAnnotation]: text };
    return { ...deployment, metadata: { ...metadata, annotations } };
  };
  const unchanged = withSettingsOf(template, desired.spec.template);
  if (replicas === 0 || reportedPods === 0 || !includesDesired(template, unchanged)) return note(next, '');
  const same = { ...next, spec: { ...next.spec, template: unchanged } };
  const limits = limitsOf(desired.spec.template);
  if (limits === limitsOf(template)) return note(same, '');
  const [notedLimits, fewest] = noted?.split(' ') ?? [];
  const before = notedLimits === limits ? Number(fewest) : replicas;
  return replicas > before ? note(next, '') : note(same, `${limits} ${Math.min(before, replicas)}`);
}

/** Whether all reported pods have the current template. Pure. */
export function hasMoved({ metadata, status = {} }: Stored<FunctionDeployment>): boolean {
  const { observedGeneration, replicas = 0, updatedReplicas = 0 } = status;
  return observedGeneration === metadata.generation && replicas === updatedReplicas;
}

/**
 * The pods of a Deployment object's current template, which are those like the newest pod. Empty while the cluster has
 * reported none, or not all reported pods are in the cache. Pure.
 */
export function newestPods(
  { metadata, spec: { template }, status = {} }: Stored<FunctionDeployment>,
  pods: readonly Stored<Pod>[],
): Stored<Pod>[] {
  const { observedGeneration, replicas = 0, updatedReplicas = 0 } = status;
  const live = pods.filter(isPodLive);
  if (observedGeneration !== metadata.generation || updatedReplicas === 0 || live.length < replicas) return [];
  const newest = podsOfNewestTemplate(live);
  // Pods of two templates were created in the same second.
  return newest.length > 0 ? newest : live.filter((pod) => isOfTemplate(pod, template));
}

/**
 * Whether a pod has the code, the environment and the settings of a template. Ports do not count, because the embedded
 * cluster gives each pod others.
 */
function isOfTemplate({ metadata, spec }: Stored<Pod>, template: FunctionTemplate): boolean {
  return (
    includesDesired(metadata.annotations, template.metadata.annotations) &&
    includesDesired(spec.volumes, template.spec['volumes']) &&
    includesDesired(
      spec.containers,
      containersOf(template).map(({ name, image, envFrom, resources }) => ({ name, image, envFrom, resources })),
    )
  );
}

/** The settings with which the pods of a template start. Pure. */
export function startSettings(template: FunctionTemplate): StartSettings {
  const { envFrom, resources } = containerOf(template) ?? {};
  const { cpu, memory } = resources?.limits ?? {};
  const envSecret = envFrom?.[0]?.secretRef?.name;
  const restartedAt = template.metadata.annotations?.[restartAnnotation];
  return {
    ...(envSecret !== undefined && { envSecret }),
    ...(cpu !== undefined && { cpu }),
    ...(memory !== undefined && { memory }),
    ...(restartedAt !== undefined && { restartedAt }),
  };
}

function limitsOf(template: FunctionTemplate): string {
  const { cpu = 'none', memory = 'none' } = startSettings(template);
  return `cpu=${cpu},memory=${memory}`;
}

function withSettingsOf(live: FunctionTemplate, desired: FunctionTemplate): FunctionTemplate {
  const { envFrom, resources } = containerOf(live) ?? {};
  const containers = containersOf(desired).map((container) => {
    if (container.name !== functionContainer) return container;
    const { envFrom: _, ...rest } = container;
    return { ...rest, ...(envFrom && { envFrom }), ...(resources && { resources }) };
  });
  return { ...desired, spec: { ...desired.spec, containers } };
}

function containerOf(template: FunctionTemplate): Container | undefined {
  return containersOf(template).find(({ name }) => name === functionContainer);
}

function containersOf({ spec }: FunctionTemplate): Container[] {
  return (spec as { containers: Container[] }).containers;
}
