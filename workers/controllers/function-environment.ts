import type { FunctionTemplate, FunctionDeployment } from '../../infra/manifests/function.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import { boundEnvironment } from '../../runtime/workloads/bound-environment.ts';
import {
  ensureEnvironmentSecret,
  environmentSecrets,
  environmentSecretsPatch,
  withEnvironmentSecret,
} from '../../runtime/workloads/environment.ts';
import { workloadIdOf } from '../../runtime/workloads/objects.ts';
import { NotYetError } from '../../runtime/kube/children.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { startSettings } from './function-settings.ts';
import { deleteSecret } from './secret-deletion.ts';

/** The part of a CronJob with the template of its runs. */
interface Scheduled extends KubeObject {
  spec: { jobTemplate: { spec: { template: FunctionTemplate } } };
}

/** An object with a pod template. */
interface HasTemplate {
  spec: Record<string, unknown>;
}

/**
 * Creates the environment Secret from a function's current variables, secrets and bindings. Its name is stored on the
 * Function before it is created, so that it is always deleted again. While a binding is not ready, the current
 * environment is kept.
 * @returns the Function with that name, and the Secret for its pods; undefined without variables
 * @throws Problem `invalid_value` when a variable does not resolve, NotYetError while the function has never had its
 * bindings
 */
export async function ensureEnvironment(
  kube: KubeClient,
  resource: Stored<FunctionResource>,
): Promise<{ resource: Stored<FunctionResource>; envSecret: string | undefined }> {
  const { environment, missing } = await boundEnvironment(kube, resource);
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

/** The current pod template of a function. */
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

/** Whether a function has environment Secrets other than that of its pods. */
export function hasFormerEnvironments(resource: Stored<FunctionResource>, envSecret: string | undefined): boolean {
  return environmentSecrets(resource).some((name) => name !== envSecret);
}

/**
 * Deletes environment Secrets that neither a pod nor a template uses. After a crash, the next reconcile continues.
 * @param templates the current and former pod templates
 */
export async function collectEnvironments(
  kube: KubeClient,
  resource: Stored<FunctionResource>,
  envSecret: string | undefined,
  templates: readonly HasTemplate[],
): Promise<void> {
  const names = environmentSecrets(resource);
  const inTemplates = templates.map(({ spec }) => startSettings(spec['template'] as FunctionTemplate).envSecret);
  const used = new Set([envSecret, ...inTemplates]);
  if (names.every((name) => used.has(name))) return;
  const { namespace = '' } = resource.metadata;
  const labelSelector = `${idLabel}=${workloadIdOf(resource)}`;
  const { items: pods } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector });
  for (const pod of pods) used.add(startSettings(templateOf(pod)).envSecret);
  const remaining: string[] = [];
  for (const name of names) {
    if (used.has(name) || !(await deleteSecret(kube, resource, name, namespace))) remaining.push(name);
  }
  if (remaining.length === names.length) return;
  const { apiVersion, kind, metadata } = resource;
  await kube.mergePatch(
    { apiVersion, kind, namespace, name: metadata.name },
    environmentSecretsPatch(resource, remaining),
  );
}

function templateOf({ metadata: { labels = {} }, spec }: Stored<Pod>): FunctionTemplate {
  return { metadata: { labels }, spec: { ...spec } };
}
