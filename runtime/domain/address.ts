import { BlockList, isIP, SocketAddress } from 'node:net';
import { parseNetwork } from './network.ts';

/** Whether an address is in one of some networks. What is no address is in none. */
export type AddressMatcher = (address: string | undefined) => boolean;

/** No real chain of trusted proxies is longer; a client could make one up that takes long to look through. */
const hopsMax = 32;

/** A matcher of networks as `parseNetwork` reads them. @throws Error that says what is wrong with one */
export function createAddressMatcher(networks: readonly string[]): AddressMatcher {
  const list = new BlockList();
  for (const text of networks) {
    const parsed = parseNetwork(text);
    if ('fault' in parsed) throw new Error(parsed.fault);
    const [address = '', prefix] = parsed.network.split('/');
    list.addSubnet(address, Number(prefix), address.includes(':') ? 'ipv6' : 'ipv4');
  }
  return (address) => {
    if (address === undefined) return false;
    const family = isIP(address);
    return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6');
  };
}

/**
 * The address of the client, as far as it is vouched for: of the chain of `X-Forwarded-For` the rightmost hop is what the
 * ingress itself saw, and a hop vouches for the one to its left when it is a trusted proxy. All that is left of the first
 * hop that is not trusted may be made up by the client.
 * @returns undefined when there is no chain, the hop that counts is no address, or more than 32 hops are trusted
 */
export function clientAddress(forwardedFor: string | undefined, trusted: AddressMatcher): string | undefined {
  if (forwardedFor === undefined) return undefined;
  let end = forwardedFor.length;
  for (let hop = 1; hop <= hopsMax; hop++) {
    const comma = end === 0 ? -1 : forwardedFor.lastIndexOf(',', end - 1);
    const address = hopAddress(forwardedFor.slice(comma + 1, end));
    if (comma < 0 || address === undefined || !trusted(address)) return address;
    end = comma;
  }
  return undefined;
}

/** The address of one hop: without a port or zone, and an IPv4 address in IPv6's clothes as the former. */
function hopAddress(text: string): string | undefined {
  let hop = text.trim();
  if (hop.startsWith('[')) hop = hop.slice(1, Math.max(1, hop.indexOf(']')));
  else if (hop.includes('.') && hop.indexOf(':') === hop.lastIndexOf(':')) hop = hop.split(':', 1)[0] ?? '';
  const zone = hop.indexOf('%');
  if (zone >= 0) hop = hop.slice(0, zone);
  const family = isIP(hop);
  if (family === 0) return undefined;
  if (family === 4 || !/^[0:]+ffff:/i.test(hop)) return hop;
  const { address } = new SocketAddress({ address: hop, family: 'ipv6' });
  return /^::ffff:([0-9.]+)$/.exec(address)?.[1] ?? hop;
}
