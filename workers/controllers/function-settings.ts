import { functionContainer } from '../../infra/manifests/function-pod.ts';
import { restartAnnotation, type FunctionDeployment, type FunctionTemplate } from '../../infra/manifests/function.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { isPodLive, type Pod } from '../../runtime/contracts/pod.ts';
import type { StartSettings } from '../../runtime/contracts/resources/function.ts';
import { apiGroup } from '../../runtime/domain/labels.ts';
import { covers } from '../../runtime/kube/covers.ts';
import { likeTheYoungest } from './youngest-pods.ts';

interface Container {
  name: string;
  envFrom?: { secretRef?: { name?: string } }[];
  resources?: { limits?: { cpu?: string; memory?: string } };
}

/** On a Deployment: the limits that its pods do not have yet, and how few replicas it has had since they were wanted. */
const waitingAnnotation = `${apiGroup}/waiting-limits`;

/**
 * A Deployment as it is to be written over the live one. The replica count belongs to others. What pods have from their
 * start on, environment and limits, stays while there are some, unless others come anyway: with another template, or for
 * other limits when there are more replicas than before (spec.md §2.5, decision 0032). Pure.
 */
export function keptDeployment(live: Stored<FunctionDeployment>, desired: FunctionDeployment): FunctionDeployment {
  const { replicas, template } = live.spec;
  const next = { ...desired, spec: { ...desired.spec, replicas } };
  const noted = live.metadata.annotations?.[waitingAnnotation];
  const note = (deployment: FunctionDeployment, text: string): FunctionDeployment => {
    if (noted === undefined && text === '') return deployment;
    const { metadata } = deployment;
    const annotations = { ...metadata.annotations, [waitingAnnotation]: text };
    return { ...deployment, metadata: { ...metadata, annotations } };
  };
  const held = withSettingsOf(template, desired.spec.template);
  if (replicas === 0 || !covers(template, held)) return note(next, '');
  const same = { ...next, spec: { ...next.spec, template: held } };
  const limits = limitsOf(desired.spec.template);
  if (limits === limitsOf(template)) return note(same, '');
  const [known, fewest] = noted?.split(' ') ?? [];
  const before = known === limits ? Number(fewest) : replicas;
  return replicas > before ? note(next, '') : note(same, `${limits} ${Math.min(before, replicas)}`);
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
  return likeTheYoungest(live);
}

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
