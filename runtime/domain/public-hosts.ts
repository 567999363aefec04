import { checkHost } from './names.ts';
import { Problem } from './problem.ts';

/** Where a workload's default host lies, and which hosts nobody may choose. */
export interface HostPlace {
  /** The domain under which default hosts lie. */
  appsDomain: string;
  /** The first label of the workload's own default host, which it may always have. */
  label: string;
}

function refuse(field: string, host: string, why: string): never {
  throw new Problem('invalid_value', `The host name "${host}" ${why}`, { details: { field, host } });
}

/**
 * Checks a host that somebody chose. Every label with `--` right under the apps domain is or may become the default host
 * of a workload (decision 0001), and `console` there is the platform's.
 * @throws Problem `invalid_value`
 */
export function checkChosenHost(host: string, { appsDomain, label: own }: HostPlace, field = 'hostname'): string {
  if (host.includes('*')) refuse(field, host, 'has a wildcard; name every host.');
  checkHost(host, field);
  if (/\.\d+$/.test(host)) refuse(field, host, 'is an address; choose a name.');
  const label = host.endsWith(`.${appsDomain}`) ? host.slice(0, -appsDomain.length - 1) : undefined;
  if (label === 'console') refuse(field, host, "is the platform's own; choose another.");
  if (label !== undefined && !label.includes('.') && label.includes('--') && label !== own) {
    refuse(field, host, 'may be the default host of another app or function; choose another.');
  }
  return host;
}

/**
 * Checks the further hosts of a workload (spec.md §2.5): each as {@link checkChosenHost}, none twice, and not its first
 * one again. @throws Problem `invalid_value`
 */
export function checkExtraHosts(hosts: readonly string[], first: string, place: HostPlace): readonly string[] {
  const field = 'extraHosts';
  hosts.forEach((host, index) => {
    checkChosenHost(host, place, field);
    if (host === first) refuse(field, host, 'is the one that the app has anyway.');
    if (hosts.indexOf(host) !== index) refuse(field, host, 'is there twice.');
  });
  return hosts;
}
