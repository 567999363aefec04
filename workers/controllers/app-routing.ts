import type { AppSpec } from '../../runtime/contracts/resources/app.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import { appHost, checkHost } from '../../runtime/domain/names.ts';
import { checkExtraHosts } from '../../runtime/domain/public-hosts.ts';

/** The app's public hosts; the first is the one of its URL. @throws Problem `invalid_value` */
export function publicHosts(
  { hostname, extraHosts = [] }: Pick<AppSpec, 'hostname' | 'extraHosts'>,
  { name, namespace }: { name: string; namespace: string },
  { appsDomain }: Pick<PlatformConfigSpec, 'appsDomain'>,
): readonly [string, ...string[]] {
  const first = hostname === undefined ? appHost(name, namespace, appsDomain) : checkHost(hostname);
  return [first, ...checkExtraHosts(extraHosts, first, { appsDomain, labels: [`${name}--${namespace}`] })];
}
