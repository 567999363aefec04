import type { FunctionTemplate, FunctionDeployment } from '../../infra/manifests/function.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { boundEnvironment } from '../../runtime/workloads/bound-environment.ts';
import { expectsSecrets, hasSecrets } from '../../runtime/workloads/secrets.ts';
import { NotYetError } from '../../runtime/kube/children.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { publishEnvironment } from './environment-secrets.ts';
import { startSettings } from './function-settings.ts';

/** The part of a CronJob with the template of its runs. */
interface Scheduled extends KubeObject {
  spec: { jobTemplate: { spec: { template: FunctionTemplate } } };
}

/**
 * Creates the environment Secret from a function's current variables, secrets and bindings. While a
 * binding is not ready, the current environment is kept.
 * @returns the Function with that name, and the Secret for its pods; undefined without variables
 * @throws Problem `invalid_value` when a variable does not resolve, NotYetError while the function has never had its
 * bindings or the secrets of its create request
 */
export async function ensureEnvironment(
  kube: KubeClient,
  resource: Stored<FunctionResource>,
): Promise<{ resource: Stored<FunctionResource>; envSecret: string | undefined }> {
  if (expectsSecrets(resource) && !(await hasSecrets(kube, resource))) {
    const command = `svc function secret set ${resource.metadata.name}`;
    throw new NotYetError(`the secrets of the create request are not stored yet; if this lasts, set them: ${command}`);
  }
  const { environment, missing } = await boundEnvironment(kube, resource);
  if (missing.length > 0) {
    const template = await currentTemplate(kube, resource);
    if (!template) throw new NotYetError(`the binding to ${missing.join(', ')} is not ready yet`);
    return { resource, envSecret: startSettings(template).envSecret };
  }
  if (!environment) return { resource, envSecret: undefined };
  const current = await publishEnvironment(kube, resource, environment);
  return { resource: current, envSecret: environment.name };
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
