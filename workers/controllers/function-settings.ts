import { functionContainer } from '../../infra/manifests/function-pod.ts';
import { restartAnnotation, type FunctionDeployment, type FunctionTemplate } from '../../infra/manifests/function.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { isPodLive, type Pod } from '../../runtime/contracts/pod.ts';
import type { StartSettings } from '../../runtime/contracts/resources/function.ts';
import { covers } from '../../runtime/kube/covers.ts';

interface Container {
  name: string;
  envFrom?: { secretRef?: { name?: string } }[];
  resources?: { limits?: { cpu?: string; memory?: string } };
}

/**
 * A Deployment as it is to be written over the live one. The replica count belongs to others. What pods have from their
 * start on, environment and limits, stays while there are some, unless others come anyway (spec.md §2.5). Pure.
 */
export function keptDeployment(live: Stored<FunctionDeployment>, desired: FunctionDeployment): FunctionDeployment {
  const { replicas, template } = live.spec;
  const next = { ...desired, spec: { ...desired.spec, replicas } };
  if (replicas === 0) return next;
  const held = withSettingsOf(template, desired.spec.template);
  return covers(template, held) ? { ...next, spec: { ...next.spec, template: held } } : next;
}

/** Whether no pod of an older template is left, as far as the cluster has reported. Pure. */
export function hasMoved({ metadata, status = {} }: Stored<FunctionDeployment>): boolean {
  const { observedGeneration, replicas = 0, updatedReplicas = 0 } = status;
  return observedGeneration === metadata.generation && replicas === updatedReplicas;
}

/**
 * The pods of the template that a Deployment is moving to: those like the youngest one. None while the cluster has not said
 * that there are some, or not all that it counts have been seen. Pure.
 */
export function newestPods(
  { metadata, status = {} }: Stored<FunctionDeployment>,
  pods: readonly Stored<Pod>[],
): Stored<Pod>[] {
  const { observedGeneration, replicas = 0, updatedReplicas = 0 } = status;
  const live = pods.filter(isPodLive);
  if (observedGeneration !== metadata.generation || updatedReplicas === 0 || live.length < replicas) return [];
  const born = (pod: Stored<Pod>) => Date.parse(pod.metadata.creationTimestamp ?? '') || 0;
  const last = Math.max(...live.map(born));
  const hashes = new Set(live.filter((pod) => born(pod) === last).map(templateOf));
  return hashes.size === 1 ? live.filter((pod) => hashes.has(templateOf(pod))) : [];
}

/** What Kubernetes calls the template that a pod was made by. */
const templateOf = ({ metadata: { labels } }: Stored<Pod>) => labels?.['pod-template-hash'];

/** What the pods of a template are started with. Pure. */
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
