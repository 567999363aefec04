import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { SecurityChange } from '../../runtime/contracts/api/public-route.ts';
import type { App, AppSpec } from '../../runtime/contracts/resources/app.ts';
import type { HostName } from '../../runtime/contracts/resources/claims.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import type { SecuritySettings } from '../../runtime/contracts/resources/public-route.ts';
import { appHost } from '../../runtime/domain/names.ts';
import { checkChosenHost, checkExtraHosts } from '../../runtime/domain/public-hosts.ts';
import { checkHostFree, readPlatformConfig } from '../../runtime/host/platform-config.ts';
import { newSecurity } from '../../runtime/host/security-settings.ts';
import { hostTaken } from '../../runtime/host/workload-create.ts';
import { workloadIdOf } from '../../runtime/host/workload-objects.ts';
import { claimHostAhead, dropClaim, otherHolder } from '../../runtime/kube/claims.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';

/** Between the claim of a host and the spec that names it lies one request to the API server. */
const claimAheadMs = 60_000;

interface NewRouting {
  name: string;
  hostname?: string | undefined;
  extraHosts?: string[] | undefined;
  security?: SecurityChange | undefined;
}

/**
 * The hosts of a new app, its own first, and what its spec says of its route: security headers, unless they are not
 * wanted. @throws Problem `invalid_value`, and `host_taken` for a host of the platform
 */
export function newRouting(
  config: PlatformConfigSpec,
  namespace: string,
  { name, hostname, extraHosts = [], security }: NewRouting,
): { hosts: readonly [string, ...string[]]; spec: Pick<AppSpec, 'extraHosts'> & { security: SecuritySettings } } {
  const first = hostname ?? appHost(name, namespace, config.appsDomain);
  checkHosts(config, { name, namespace }, first, extraHosts);
  const settings = { ...(extraHosts.length > 0 && { extraHosts }), security: newSecurity(security) };
  return { hosts: [first, ...extraHosts], spec: settings };
}

function checkHosts(
  config: PlatformConfigSpec,
  { name, namespace }: { name: string; namespace: string },
  first: string,
  extraHosts: readonly string[],
): void {
  const place = { appsDomain: config.appsDomain, label: `${name}--${namespace}` };
  for (const host of [first, ...extraHosts]) checkHostFree(config, host);
  checkChosenHost(first, place);
  checkExtraHosts(extraHosts, first, place);
}

/**
 * Claims the hosts that `extraHosts` adds to an app, then makes the change; the controller gives back those that it
 * leaves out. Where one is taken or the change fails, everything is as before.
 * @throws Problem `invalid_value`, `host_taken`, and whatever `change` throws
 */
export async function withExtraHosts(
  { kube, now }: { kube: KubeClient; now: Date },
  app: Stored<App>,
  extraHosts: readonly string[] | undefined,
  change: () => Promise<Stored<App>>,
): Promise<Stored<App>> {
  if (extraHosts === undefined) return change();
  const { name, namespace = '' } = app.metadata;
  const config = await readPlatformConfig(kube);
  const first = app.spec.hostname ?? appHost(name, namespace, config.appsDomain);
  checkHosts(config, { name, namespace }, first, extraHosts);
  const id = workloadIdOf(app);
  // Before anything is written, so that a refusal is the rule and giving back the exception.
  for (const host of extraHosts) {
    const holder = await otherHolder(kube, id, host);
    if (holder) throw hostTaken(host, holder);
  }
  const until = new Date(now.getTime() + claimAheadMs);
  const made: Stored<HostName>[] = [];
  try {
    for (const host of extraHosts) {
      const claim = await claimHostAhead(kube, app, host, until);
      if (claim === 'claimed') continue;
      if ('holder' in claim) throw hostTaken(host, claim.holder);
      made.push(claim.made);
    }
    return await change();
  } catch (error) {
    // One that cannot be given back now ends by itself.
    await Promise.allSettled(made.map((claim) => dropClaim(kube, claim)));
    throw error;
  }
}
