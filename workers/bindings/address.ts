import { lookup } from 'node:dns/promises';
import { createAddressMatcher } from '../../runtime/domain/address.ts';
import { mayBeSentTo } from '../../runtime/domain/public-address.ts';
import { BindingError } from './server.ts';

/**
 * Looks up an external service's host once and judges what it leads to: this process is inside the cluster, where a host
 * that somebody made up could lead to the platform's own stores. It reaches what pods of environments may reach.
 * @param networks private networks that the platform's admin opened for them
 * @returns an address to connect to @throws BindingError
 */
export async function externalAddress(host: string, networks: readonly string[]): Promise<string> {
  const found = await lookup(host, { all: true }).catch(() => {
    throw new BindingError(`The host ${host} is not known.`);
  });
  const allowed = createAddressMatcher(networks);
  const [first] = found;
  if (first && found.every(({ address }) => mayBeSentTo(address, allowed))) return first.address;
  throw new BindingError(
    `${host} is in no network that workloads may reach; an admin of the platform can open one: svc platform config --allow-private-network`,
  );
}
