import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { SecurityChange } from '../../runtime/contracts/api/public-route.ts';
import type { App, AppSpec } from '../../runtime/contracts/resources/app.ts';
import type { HostName } from '../../runtime/contracts/resources/claims.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import type { SecuritySettings } from '../../runtime/contracts/resources/public-route.ts';
import { appHost } from '../../runtime/domain/names.ts';
import { checkChosenHost, checkExtraHosts } from '../../runtime/domain/public-hosts.ts';
import { checkHostFree, readPlatformConfig } from '../../runtime/workloads/platform-config.ts';
import { newSecurity } from '../../runtime/api/security-settings.ts';
import { hostTaken, type HostAsker } from '../../runtime/workloads/create.ts';
import { admitHosts, type HostAdmission, type ResolveTxt } from '../../runtime/workloads/host-admission.ts';
import type { Environment } from '../../runtime/kube/environments.ts';
import { workloadIdOf } from '../../runtime/workloads/objects.ts';
import { claimHostAhead, dropClaim, otherHolder } from '../../runtime/kube/claims.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';

/** Lifetime of a claim for a host that is not in the spec yet, in ms; the write of the spec follows immediately. */
const claimAheadMs = 60_000;

interface NewRouting {
  name: string;
  hostname?: string | undefined;
  extraHosts?: string[] | undefined;
  security?: SecurityChange | undefined;
}

/**
 * The hosts of a new app, its main host first, and the route settings of its spec.
 * @throws Problem `invalid_value`, `host_not_allowed`, and `host_taken` for a host of the platform or the cluster
 */
export async function newRouting(
  admission: HostAdmission,
  { project, namespace }: Pick<Environment, 'project' | 'namespace'>,
  { name, hostname, extraHosts = [], security }: NewRouting,
): Promise<{
  hosts: readonly [string, ...string[]];
  spec: Pick<AppSpec, 'extraHosts'> & { security: SecuritySettings };
}> {
  const { config } = admission;
  const first = hostname ?? appHost(name, namespace, config.appsDomain);
  const hosts = [first, ...extraHosts] as const;
  checkHosts(config, { name, namespace }, first, extraHosts);
  await admitHosts(admission, { project, labels: [`${name}--${namespace}`] }, hosts);
  const spec = { ...(extraHosts.length > 0 && { extraHosts }), security: newSecurity(security) };
  return { hosts, spec };
}

function checkHosts(
  config: Pick<PlatformConfigSpec, 'appsDomain'>,
  { name, namespace }: { name: string; namespace: string },
  first: string,
  extraHosts: readonly string[],
): void {
  const owner = { appsDomain: config.appsDomain, labels: [`${name}--${namespace}`] };
  for (const host of [first, ...extraHosts]) checkHostFree(config, host);
  checkChosenHost(first, owner);
  checkExtraHosts(extraHosts, first, owner);
}

/**
 * Claims the hosts of `extraHosts` that an app does not have yet, then applies the change; the controller releases the
 * hosts that it removes. When a host is taken or the change fails, the new claims are released.
 * @throws Problem `invalid_value`, `host_taken`, `host_not_allowed`, and whatever `change` throws
 */
export async function withExtraHosts(
  {
    kube,
    now,
    asker,
    resolveTxt,
  }: { kube: KubeClient; now: Date; asker: HostAsker; resolveTxt?: ResolveTxt | undefined },
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
  // Checked before anything is written, so that claims rarely have to be released.
  for (const host of extraHosts) {
    const holder = await otherHolder(kube, id, host);
    if (holder) throw hostTaken(host, asker, holder);
  }
  const applicant = { project: asker.project, workloadId: id, labels: [`${name}--${namespace}`] };
  await admitHosts({ kube, config, resolveTxt }, applicant, extraHosts);
  const until = new Date(now.getTime() + claimAheadMs);
  const newClaims: Stored<HostName>[] = [];
  try {
    for (const host of extraHosts) {
      const claim = await claimHostAhead(kube, app, host, until);
      if (claim === 'claimed') continue;
      if ('holder' in claim) throw hostTaken(host, asker, claim.holder);
      newClaims.push(claim.created);
    }
    return await change();
  } catch (error) {
    // A claim that cannot be released now expires.
    await Promise.allSettled(newClaims.map((claim) => dropClaim(kube, claim)));
    throw error;
  }
}
