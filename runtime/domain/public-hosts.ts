import { checkHost } from './names.ts';
import { Problem } from './problem.ts';

/** What decides a workload's default host and the reserved hosts. */
export interface HostPlace {
  /** The domain of default hosts. */
  appsDomain: string;
  /** The first labels of the workload's own default hosts, which are always allowed. */
  labels: readonly string[];
}

function refuse(field: string, host: string, why: string): never {
  throw new Problem('invalid_value', `The host name "${host}" ${why}`, { details: { field, host } });
}

/**
 * Checks a host that a user chose. A label with `--` directly under the apps domain is or may become the default host
 * of a workload (decision 0001), and `console` is reserved for the platform.
 * @throws Problem `invalid_value`
 */
export function checkChosenHost(host: string, { appsDomain, labels: own }: HostPlace, field = 'hostname'): string {
  if (host.includes('*')) refuse(field, host, 'contains a wildcard; list each host.');
  checkHost(host, field);
  if (/\.\d+$/.test(host)) refuse(field, host, 'is an IP address; use a host name.');
  const label = host.endsWith(`.${appsDomain}`) ? host.slice(0, -appsDomain.length - 1) : undefined;
  if (label === 'console') refuse(field, host, 'is reserved by the platform; choose another host.');
  if (label !== undefined && !label.includes('.') && label.includes('--') && !own.includes(label)) {
    refuse(field, host, 'may be the default host of another app or function; choose another host.');
  }
  return host;
}

/**
 * Checks the additional hosts of a workload: each with {@link checkChosenHost}, without duplicates and without its main
 * host. @throws Problem `invalid_value`
 */
export function checkExtraHosts(hosts: readonly string[], first: string, place: HostPlace): readonly string[] {
  const field = 'extraHosts';
  hosts.forEach((host, index) => {
    checkChosenHost(host, place, field);
    if (host === first) refuse(field, host, "is the app's main host already.");
    if (hosts.indexOf(host) !== index) refuse(field, host, 'is listed twice.');
  });
  return hosts;
}
