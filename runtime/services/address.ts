import { lookup as systemLookup } from 'node:dns/promises';
import type { Stored } from '../contracts/kubernetes.ts';
import { defaultPorts, type ServiceResource } from '../contracts/resources/service.ts';
import { createAddressMatcher } from '../domain/address.ts';
import { mayBeSentTo } from '../domain/public-address.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { readPlatformConfig } from '../workloads/platform-config.ts';

/** Why the platform does not connect to a service. The message is shown to users. */
export class BlockedHostError extends Error {
  override readonly name = 'BlockedHostError';
}

/** Resolves all addresses of a host name. */
export type LookupAll = (host: string) => Promise<readonly { address: string }[]>;

const lookupAll: LookupAll = (host) => systemLookup(host, { all: true });

/** The host and port at which workloads reach a service. Pure. */
export function serviceEndpoint({ metadata, spec, status }: Stored<ServiceResource>): { host: string; port: number } {
  return {
    host: status?.host ?? spec.external?.host ?? `${metadata.name}.${metadata.namespace}.svc`,
    port: status?.port ?? spec.external?.port ?? defaultPorts[spec.type],
  };
}

/**
 * The address to connect to: the host name of a managed service, or an IP address of an external one. An external host is
 * resolved once and its addresses are checked, because this process is inside the cluster, where a user's host could
 * point to the platform's own databases. Allowed are the networks that workloads can reach. Callers must connect to the
 * returned address, because resolving the host again could return another one.
 * @param host default the host of the service
 * @throws BlockedHostError
 */
export async function serviceAddress(
  kube: Pick<KubeClient, 'get'>,
  service: Stored<ServiceResource>,
  { host = serviceEndpoint(service).host, lookup = lookupAll }: { host?: string; lookup?: LookupAll } = {},
): Promise<string> {
  if (!service.spec.external) return host;
  const { allowPrivateNetworks = [] } = await readPlatformConfig(kube);
  const addresses = await lookup(host).catch(() => {
    throw new BlockedHostError(`The host ${host} cannot be resolved.`);
  });
  const allowed = createAddressMatcher(allowPrivateNetworks);
  const [first] = addresses;
  if (first && addresses.every(({ address }) => mayBeSentTo(address, allowed))) return first.address;
  throw new BlockedHostError(
    `${host} is in a private network that workloads may not use. A platform admin can allow it: svc platform config set --allow-private-network`,
  );
}
