import { Problem } from './problem.ts';

/** The kinds that share one set of names in an environment. */
export type WorkloadKind = 'App' | 'Function' | 'Job' | 'Service';

/** The kind with its article, for messages: "an app". */
export const kindPhrase: Readonly<Record<WorkloadKind, string>> = {
  App: 'an app',
  Function: 'a function',
  Job: 'a job',
  Service: 'a service',
};

/** RFC 1123: a DNS label is at most 63 characters. */
export const dnsLabelMax = 63;
/** A DNS name is at most 253 characters. */
export const dnsNameMax = 253;
/**
 * Deployment objects, Jobs and their pods append suffixes (`-<10>-<5>`, `-test-<hex>`) to a workload's name, and a CronJob's
 * name is limited to 52 characters. This limit keeps every derived name a DNS label.
 */
export const workloadNameMax = 40;

const dnsLabel = /^[a-z]([a-z0-9-]*[a-z0-9])?$/;
const environmentLabel = /^[a-z][a-z0-9]*$/;
const reservedNamespaces = /^(kube-|svc-|openshift-)|^(default|monitoring|traefik|svc)$/;

function refuse(field: string, message: string): never {
  throw new Problem('invalid_value', message, { details: { field } });
}

/** The name of a function's test run: `<function>-test-<hex>`. */
export function testRunName(name: string, id: string): string {
  return `${name}-test-${id}`;
}

/** Checks a workload's name. @throws Problem `invalid_value` */
export function checkWorkloadName(name: string, field = 'name'): string {
  if (!dnsLabel.test(name) || name.includes('--')) {
    refuse(
      field,
      `"${name}" is not a valid name: use lower-case letters, digits and single hyphens, starting with a letter.`,
    );
  }
  if (name.length > workloadNameMax) {
    refuse(field, `"${name}" has ${name.length} characters; the limit is ${workloadNameMax}.`);
  }
  return name;
}

/**
 * Whether the platform gives this name to the claim of a managed service (`data-<service>-0`) or of a function's packages
 * (`function-<function>-dependencies-<digest>`). Pure.
 */
export function isReservedClaimName(name: string): boolean {
  return /^data-.+-0$/.test(name) || /^function-.+-dependencies-/.test(name);
}

/** Checks a volume's name, which its claim has too. @throws Problem `invalid_value` */
export function checkVolumeName(name: string): string {
  checkWorkloadName(name);
  if (!isReservedClaimName(name)) return name;
  return refuse('name', `"${name}" is reserved for the storage of services and functions; choose another name.`);
}

/** Checks a project's name: no `--`, which separates app and namespace in host names (decision 0001). */
export function checkProjectName(name: string, field = 'name'): string {
  if (!dnsLabel.test(name) || name.includes('--')) {
    refuse(
      field,
      `"${name}" is not a valid project name: use lower-case letters, digits and single hyphens, starting with a letter.`,
    );
  }
  if (name.length > 30) refuse(field, `"${name}" has ${name.length} characters; the limit for project names is 30.`);
  return name;
}

/** Checks an environment's name: no hyphen, so that the namespace splits in one way only (decision 0001). */
export function checkEnvironmentName(name: string, field = 'environment'): string {
  if (!environmentLabel.test(name)) {
    refuse(
      field,
      `"${name}" is not a valid environment name: use lower-case letters and digits, starting with a letter.`,
    );
  }
  if (name.length > 20)
    refuse(field, `"${name}" has ${name.length} characters; the limit for environment names is 20.`);
  return name;
}

/**
 * The namespace of an environment.
 * @throws Problem `invalid_value` when the namespace belongs to Kubernetes or to the platform
 */
export function namespaceOf(project: string, environment: string): string {
  const namespace = `${project}-${environment}`;
  if (reservedNamespaces.test(namespace)) {
    refuse('name', `"${namespace}" is reserved; choose another project name.`);
  }
  return namespace;
}

/** Whether a namespace has the form of an environment's: `<project>-<environment>`. Pure. */
export function isNamespaceOfEnvironment(namespace: string): boolean {
  const hyphen = namespace.lastIndexOf('-');
  return hyphen > 0 && isEnvironmentOf(namespace, namespace.slice(0, hyphen)) && dnsLabel.test(namespace);
}

/** Whether a namespace is an environment of a project: it splits in one way only (decision 0001). Pure. */
export function isEnvironmentOf(namespace: string, project: string): boolean {
  return namespace.startsWith(`${project}-`) && environmentLabel.test(namespace.slice(project.length + 1));
}

/** The public host of an app: `<app>--<namespace>.<apps_domain>` (decision 0001). @throws Problem `invalid_value` */
export function appHost(app: string, namespace: string, appsDomain: string): string {
  return checkHost(`${app}--${namespace}.${appsDomain}`);
}

/** The short public host of a function: `fn-<name>--<cluster>.<apps_domain>`. @throws Problem `invalid_value` */
export function functionHost(name: string, cluster: string, appsDomain: string): string {
  return checkHost(`fn-${name}--${cluster}.${appsDomain}`);
}

/**
 * The public host that only this function can have: `fn-<name>--<namespace>--<cluster>.<apps_domain>` (decision 0042).
 * @throws Problem `invalid_value`
 */
export function ownFunctionHost(
  { name, namespace }: { name: string; namespace: string },
  cluster: string,
  appsDomain: string,
): string {
  return checkHost(`fn-${name}--${namespace}--${cluster}.${appsDomain}`);
}

/** The first labels of the hosts that a function may have by default. */
export function functionLabels({ name, namespace }: { name: string; namespace: string }, cluster: string): string[] {
  return [`fn-${name}--${cluster}`, `fn-${name}--${namespace}--${cluster}`];
}

/** Checks a host name (RFC 1123: labels of at most 63 characters, 253 in all). @throws Problem `invalid_value` */
export function checkHost(host: string, field = 'hostname'): string {
  const labels = host.split('.');
  const usable = labels.length > 1 && labels.every((label) => /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(label));
  if (!usable) refuse(field, `"${host}" is not a lower-case host name such as api.example.com.`);
  const long = labels.find((label) => label.length > dnsLabelMax);
  if (long !== undefined) {
    refuse(
      field,
      `The host name "${host}" has a label of ${long.length} characters ("${long}"); the limit is ${dnsLabelMax}. Choose a shorter name, or set --hostname.`,
    );
  }
  if (host.length > dnsNameMax)
    refuse(field, `The host name "${host}" has ${host.length} characters; the limit is ${dnsNameMax}.`);
  return host;
}

/**
 * The message for a name that is already in use; it mentions services only if one is involved.
 * @param claimant the kind of the new workload
 */
export function nameTaken(name: string, holder: WorkloadKind, claimant?: string): Problem {
  const sharers =
    holder === 'Service' || claimant === 'Service'
      ? 'an app, a function, a job and a service'
      : 'an app, a function and a job';
  return new Problem(
    'name_taken',
    `The name "${name}" is already used by ${kindPhrase[holder]} in this environment; ${sharers} cannot share a name. Choose another name or delete the ${holder.toLowerCase()}.`,
    { details: { name, kind: holder } },
  );
}
