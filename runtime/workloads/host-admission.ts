import type { HostName } from '../contracts/resources/claims.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { PlatformConfigSpec } from '../contracts/resources/platform-config.ts';
import type { Project } from '../contracts/resources/project.ts';
import { hostChallenge, hostNotAllowed, isHostAllowed } from '../domain/host-permission.ts';
import { idLabel } from '../domain/labels.ts';
import type { Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';
import { checkChosenHost } from '../domain/public-hosts.ts';
import { isServedElsewhere } from '../kube/foreign-routes.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { checkHostFree } from './platform-config.ts';

/** Reads the TXT records of a name, each as its parts. @throws for a name without any, and when DNS does not answer */
export type ResolveTxt = (name: string) => Promise<string[][]>;

export interface HostAdmission {
  kube: Pick<KubeClient, 'get' | 'list' | 'cache'>;
  config: Pick<PlatformConfigSpec, 'appsDomain' | 'hostDomains' | 'hostProofs'>;
  /** Undefined where no DNS can be asked: then only the settings allow hosts. */
  resolveTxt?: ResolveTxt | undefined;
}

export interface HostApplicant {
  project: string;
  /** Undefined for a workload that does not exist yet. */
  workloadId?: Id | undefined;
  /** The first labels of the workload's default hosts, `<label>.<apps domain>`. */
  labels: readonly string[];
}

/**
 * Checks the hosts that a workload does not serve yet. Its default hosts are always its own, and hosts that it has claimed
 * stay, whatever has changed since. Any other must be free, and outside the apps domain it must be in a domain that the
 * project may use, by the settings or by a DNS record.
 * @throws Problem `invalid_value`, `host_taken`, `host_not_allowed`
 */
export async function admitHosts(admission: HostAdmission, applicant: HostApplicant, hosts: readonly string[]) {
  const { kube, config } = admission;
  const { appsDomain } = config;
  for (const host of hosts) {
    const isDefault = applicant.labels.some((label) => host === `${label}.${appsDomain}`);
    if (isDefault || (await hasClaimed(kube, applicant, host))) continue;
    checkHostFree(config, host);
    checkChosenHost(host, { appsDomain, labels: applicant.labels });
    if (!host.endsWith(`.${appsDomain}`)) await checkAllowed(admission, applicant.project, host);
    if (await isServedElsewhere(kube, host)) {
      throw new Problem(
        'host_taken',
        `The host name "${host}" is already served by another route of the cluster; choose another host.`,
        { details: { host } },
      );
    }
  }
}

async function hasClaimed(kube: HostAdmission['kube'], { workloadId }: HostApplicant, host: string): Promise<boolean> {
  if (workloadId === undefined) return false;
  const isOwn = (claim: HostName | undefined) => claim?.spec.workloadId === workloadId;
  if (isOwn(kube.cache?.get<HostName>(kinds.HostName, host))) return true;
  return isOwn(await kube.get<HostName>(kinds.HostName, host));
}

async function checkAllowed({ kube, config, resolveTxt }: HostAdmission, project: string, host: string) {
  if (isHostAllowed(host, project, config.hostDomains)) return;
  const id = (await kube.get<Project>(kinds.Project, project))?.metadata.labels?.[idLabel];
  const { hostProofs = true } = config;
  if (!hostProofs || !resolveTxt || id === undefined) throw hostNotAllowed(host, project, undefined);
  const challenge = hostChallenge(host, id);
  // A name without records and a DNS server that does not answer prove the same.
  const records = await resolveTxt(challenge.name).catch(() => []);
  if (!records.some((parts) => parts.join('') === challenge.value)) throw hostNotAllowed(host, project, challenge);
}
