import type { RunEnvironment } from '../../infra/manifests/job.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { boundServices } from '../../runtime/contracts/resources/binding.ts';
import type { JobResource } from '../../runtime/contracts/resources/job.ts';
import { resolveVariables } from '../../runtime/domain/variables.ts';
import { bindingWait } from '../../runtime/workloads/bindings.ts';
import { boundEnvironment } from '../../runtime/workloads/bound-environment.ts';
import { expectsSecrets, hasSecrets } from '../../runtime/workloads/secrets.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { publishEnvironment } from './environment-secrets.ts';

/** Why runs wait, for people. */
export interface RunWait {
  failed: boolean;
  message: string;
}

/** A job with the environment of its next runs. */
interface JobEnvironment {
  job: Stored<JobResource>;
  /** Empty while {@link wait} is set. */
  environment: RunEnvironment;
  /** What its runs wait for; undefined when they can start. */
  wait: RunWait | undefined;
}

/**
 * Resolves the environment of a job's next runs. With secrets or bindings it is an immutable Secret, otherwise it is part
 * of the runs' objects. Runs wait for bindings, and for the secrets of the job's create request.
 * @throws Problem `invalid_value` when a variable does not resolve
 */
export async function ensureRunEnvironment(kube: KubeClient, job: Stored<JobResource>): Promise<JobEnvironment> {
  const { env, secretsRevision } = job.spec;
  if (expectsSecrets(job) && !(await hasSecrets(kube, job))) {
    const message = `Waiting for the secrets of its create request. If this lasts, set them: svc job secret set ${job.metadata.name}.`;
    return { job, environment: {}, wait: { failed: false, message } };
  }
  if (secretsRevision === undefined && !expectsSecrets(job) && boundServices(job.spec).length === 0) {
    const values = new Map(resolveVariables(env ?? [], [], 'Job').map(({ name, value }) => [name, value]));
    const literal = env?.map(({ name }) => ({ name, value: values.get(name) ?? '' }));
    return { job, environment: { env: literal }, wait: undefined };
  }
  const { environment, missing } = await boundEnvironment(kube, job);
  if (missing.length > 0) {
    const message = `Waiting for the binding to "${missing.join('", "')}".`;
    return { job, environment: {}, wait: bindingWait(job) ?? { failed: false, message } };
  }
  if (!environment) return { job, environment: {}, wait: undefined };
  const published = await publishEnvironment(kube, job, environment);
  return { job: published, environment: { envSecret: environment.name }, wait: undefined };
}
