import { lookup as systemLookup } from 'node:dns/promises';
import { connect as connectSocket, isIP } from 'node:net';
import { Agent } from 'undici';
import type { Stored } from '../contracts/kubernetes.ts';
import { defaultPorts, type ServiceResource } from '../contracts/resources/service.ts';
import { createAddressMatcher } from '../domain/address.ts';
import { mayBeSentTo } from '../domain/public-address.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { readPlatformConfig } from './platform-config.ts';

/** A service that the platform does not connect to as things are; the message is for people. */
export class ClosedHostError extends Error {
  override readonly name = 'ClosedHostError';
}

/** All addresses of a name. */
export type LookupAll = (host: string) => Promise<readonly { address: string }[]>;

const lookupAll: LookupAll = (host) => systemLookup(host, { all: true });

/** Where workloads reach a service. Pure. */
export function serviceEndpoint({ metadata, spec, status }: Stored<ServiceResource>): { host: string; port: number } {
  return {
    host: status?.host ?? spec.external?.host ?? `${metadata.name}.${metadata.namespace}.svc`,
    port: status?.port ?? spec.external?.port ?? defaultPorts[spec.type],
  };
}

/**
 * Where to connect to a service: the name of one that the platform runs, and of an external one an address that its host
 * was found to have. That one is looked up once and judged by what it leads to, since the platform's processes are inside
 * the cluster, where a host that somebody made up could lead to the platform's own stores. They reach what pods of
 * environments may reach; whoever connects has to take this address, and no other that the host has a moment later.
 * @param host as the connection is to be made; default the service's own
 * @throws ClosedHostError
 */
export async function serviceAddress(
  kube: Pick<KubeClient, 'get'>,
  service: Stored<ServiceResource>,
  { host = serviceEndpoint(service).host, lookup = lookupAll }: { host?: string; lookup?: LookupAll } = {},
): Promise<string> {
  if (!service.spec.external) return host;
  const { allowPrivateNetworks = [] } = await readPlatformConfig(kube);
  const found = await lookup(host).catch(() => {
    throw new ClosedHostError(`The host ${host} is not known.`);
  });
  const allowed = createAddressMatcher(allowPrivateNetworks);
  const [first] = found;
  if (first && found.every(({ address }) => mayBeSentTo(address, allowed))) return first.address;
  throw new ClosedHostError(
    `${host} is in no network that workloads may reach; an admin of the platform can open one: svc platform config set --allow-private-network`,
  );
}

/** What TLS is told of a host at which another address is connected to: names only, since addresses are none. Pure. */
export function tlsName(host: string): { servername?: string } {
  return isIP(host) === 0 ? { servername: host } : {};
}

/** For mysql2, which takes the host for the certificate's name: the connection goes to this address. */
export function mysqlStream(address: string, port: number) {
  return () => connectSocket({ host: address, port, keepAlive: true, noDelay: true });
}

/** HTTP connections that go to this address, whatever host their URL names; end it with `destroy`. */
export function httpAgent(address: string): Agent {
  const family = isIP(address);
  if (family === 0) return new Agent();
  return new Agent({
    connect: {
      lookup: (_host, options, callback) => {
        if (options.all) callback(null, [{ address, family }]);
        else callback(null, address, family);
      },
    },
  });
}
