import type { FunctionTemplate, FunctionDeployment } from '../../infra/manifests/function.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import { functionEnvironment } from '../../runtime/host/function-environment.ts';
import {
  ensureEnvironmentSecret,
  environmentSecrets,
  environmentSecretsPatch,
  withEnvironmentSecret,
} from '../../runtime/host/workload-environment.ts';
import { workloadIdOf } from '../../runtime/host/workload-objects.ts';
import { deleteChild, NotYetError } from '../../runtime/kube/children.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { refIn } from './function-child.ts';
import { startSettings } from './function-settings.ts';

/** A CronJob, as far as its runs' template goes. */
interface Scheduled extends KubeObject {
  spec: { jobTemplate: { spec: { template: FunctionTemplate } } };
}

/** Whatever has a pod's template. */
interface HasTemplate {
  spec: Record<string, unknown>;
}

/**
 * Makes the environment of a function's variables, secrets and bindings as they are now. Its name stands on the Function
 * before the Secret is there, so that none is forgotten. While a binding is not ready, what the function has stays.
 * @returns the Function with that name, and the Secret that its pods are to have; undefined without any variable
 * @throws Problem `invalid_value` for what does not resolve, NotYetError for a function that never had its bindings
 */
export async function ensureEnvironment(
  kube: KubeClient,
  resource: Stored<FunctionResource>,
): Promise<{ resource: Stored<FunctionResource>; envSecret: string | undefined }> {
  const { environment, missing } = await functionEnvironment(kube, resource);
  if (missing.length > 0) {
    const template = await currentTemplate(kube, resource);
    if (!template) throw new NotYetError(`the binding to ${missing.join(', ')} is not ready yet`);
    return { resource, envSecret: startSettings(template).envSecret };
  }
  if (!environment) return { resource, envSecret: undefined };
  const named = environmentSecrets(resource).includes(environment.name)
    ? resource
    : await nameEnvironment(kube, resource, environment.name);
  await ensureEnvironmentSecret(kube, named, environment);
  return { resource: named, envSecret: environment.name };
}

function nameEnvironment(kube: KubeClient, resource: Stored<FunctionResource>, name: string) {
  const { metadata } = resource;
  return kube.replace<FunctionResource>({
    ...resource,
    metadata: { ...metadata, annotations: withEnvironmentSecret(resource, name) },
  });
}

/** What a function's pods are made of now, by its trigger. */
async function currentTemplate(
  kube: Pick<KubeClient, 'get'>,
  { metadata: { name, namespace }, spec }: Stored<FunctionResource>,
): Promise<FunctionTemplate | undefined> {
  if (spec.trigger === 'cron') {
    const schedule = await kube.get<Scheduled>(kinds.CronJob, name, namespace);
    return schedule?.spec.jobTemplate.spec.template;
  }
  return (await kube.get<FunctionDeployment>(kinds.Deployment, name, namespace))?.spec.template;
}

/** Whether a function has environments but the one that its pods are to have. */
export function hasFormerEnvironments(resource: Stored<FunctionResource>, envSecret: string | undefined): boolean {
  return environmentSecrets(resource).some((name) => name !== envSecret);
}

/**
 * Removes environments that neither a pod nor one of the templates refers to any more. What a crash leaves is found by the
 * next pass.
 * @param templates what pods are still made of, or were
 */
export async function collectEnvironments(
  kube: KubeClient,
  resource: Stored<FunctionResource>,
  envSecret: string | undefined,
  templates: readonly HasTemplate[],
): Promise<void> {
  const names = environmentSecrets(resource);
  const made = templates.map(({ spec }) => startSettings(spec['template'] as FunctionTemplate).envSecret);
  const used = new Set([envSecret, ...made]);
  if (names.every((name) => used.has(name))) return;
  const { namespace = '' } = resource.metadata;
  const labelSelector = `${idLabel}=${workloadIdOf(resource)}`;
  const { items: pods } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector });
  for (const pod of pods) used.add(startSettings(templateOf(pod)).envSecret);
  const kept: string[] = [];
  for (const name of names) {
    if (used.has(name) || !(await deleteChild(kube, resource, refIn(namespace, kinds.Secret, name)))) kept.push(name);
  }
  if (kept.length === names.length) return;
  const { apiVersion, kind, metadata } = resource;
  await kube.mergePatch({ apiVersion, kind, namespace, name: metadata.name }, environmentSecretsPatch(resource, kept));
}

function templateOf({ metadata: { labels = {} }, spec }: Stored<Pod>): FunctionTemplate {
  return { metadata: { labels }, spec: { ...spec } };
}
