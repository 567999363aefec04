import { Problem } from './problem.ts';

/** The kinds that share one name space in an environment (spec.md §3.3). */
export type WorkloadKind = 'App' | 'Function' | 'Job' | 'Service';

/** How a person says the kind, with its article: "an app". */
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
 * Deployments, Jobs and their pods append suffixes (`-<10>-<5>`, `-test-<hex>`) to a workload's name, and a CronJob's
 * name may have 52 characters at most, so that every derived name stays a DNS label.
 */
export const workloadNameMax = 40;

const dnsLabel = /^[a-z]([a-z0-9-]*[a-z0-9])?$/;
const environmentLabel = /^[a-z][a-z0-9]*$/;
const reservedNamespaces = /^(kube-|svc-|openshift-)|^(default|monitoring|traefik|svc)$/;

function refuse(field: string, message: string): never {
  throw new Problem('invalid_value', message, { details: { field } });
}

/** The name of a function's test run: `<function>-test-<hex>` (spec.md §4.8). */
export function testRunName(name: string, id: string): string {
  return `${name}-test-${id}`;
}

/** Checks a workload's name. @throws Problem `invalid_value` */
export function checkWorkloadName(name: string, field = 'name'): string {
  if (!dnsLabel.test(name) || name.includes('--')) {
    refuse(
      field,
      `"${name}" is not a usable name: use lower-case letters, digits and single hyphens, starting with a letter.`,
    );
  }
  if (name.length > workloadNameMax) {
    refuse(field, `"${name}" has ${name.length} characters; a name has at most ${workloadNameMax}.`);
  }
  return name;
}

/** Checks a project's name: no `--`, so that `<project>-<environment>` can be told apart in host names (decision 0001). */
export function checkProjectName(name: string, field = 'name'): string {
  if (!dnsLabel.test(name) || name.includes('--')) {
    refuse(
      field,
      `"${name}" is not a usable project name: use lower-case letters, digits and single hyphens, starting with a letter.`,
    );
  }
  if (name.length > 30) refuse(field, `"${name}" has ${name.length} characters; a project name has at most 30.`);
  return name;
}

/** Checks an environment's name: no hyphen, so that the namespace splits in one way only (decision 0001). */
export function checkEnvironmentName(name: string, field = 'environment'): string {
  if (!environmentLabel.test(name)) {
    refuse(
      field,
      `"${name}" is not a usable environment name: use lower-case letters and digits, starting with a letter.`,
    );
  }
  if (name.length > 20) refuse(field, `"${name}" has ${name.length} characters; an environment name has at most 20.`);
  return name;
}

/**
 * The namespace of one environment (spec.md §1).
 * @throws Problem `invalid_value` when the namespace belongs to Kubernetes or to the platform
 */
export function namespaceOf(project: string, environment: string): string {
  const namespace = `${project}-${environment}`;
  if (reservedNamespaces.test(namespace)) {
    refuse('name', `"${namespace}" is reserved; choose another project name.`);
  }
  return namespace;
}

/** The public host of an app: `<app>--<namespace>.<apps_domain>` (decision 0001). @throws Problem `invalid_value` */
export function appHost(app: string, namespace: string, appsDomain: string): string {
  return checkHost(`${app}--${namespace}.${appsDomain}`);
}

/** The public host of a function: `fn-<name>--<cluster>.<apps_domain>` (spec.md §4.6). @throws Problem `invalid_value` */
export function functionHost(name: string, cluster: string, appsDomain: string): string {
  return checkHost(`fn-${name}--${cluster}.${appsDomain}`);
}

/** Checks a host name (RFC 1123: labels of at most 63 characters, 253 in all). @throws Problem `invalid_value` */
export function checkHost(host: string, field = 'hostname'): string {
  const labels = host.split('.');
  const usable = labels.length > 1 && labels.every((label) => /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(label));
  if (!usable) refuse(field, `"${host}" is not a host name in lower case, such as api.example.com.`);
  const long = labels.find((label) => label.length > dnsLabelMax);
  if (long !== undefined) {
    refuse(
      field,
      `The host name "${host}" has a label of ${long.length} characters ("${long}"); DNS allows ${dnsLabelMax}. Choose a shorter name or --hostname.`,
    );
  }
  if (host.length > dnsNameMax) refuse(field, `The host name "${host}" is longer than ${dnsNameMax} characters.`);
  return host;
}

/**
 * Why a name is refused over a held one, in the words of spec.md §7.2; services are named where one is concerned.
 * @param claimant the kind that asked
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
