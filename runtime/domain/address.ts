import { BlockList, isIP, isIPv6, SocketAddress } from 'node:net';
import { parseNetwork } from './network.ts';

/** Whether an address is in one of the networks; false for text that is not an address. */
export type AddressMatcher = (address: string | undefined) => boolean;

/** Longer chains of trusted proxies are not real: a client could send one that takes long to parse. */
const hopsMax = 32;

/** A matcher for networks that `parseNetwork` accepts. @throws Error for an invalid one */
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
 * The client's address as far as it can be trusted. The rightmost hop of `X-Forwarded-For` is what the ingress observed. A
 * hop that is a trusted proxy vouches for the hop to its left. Hops to the left of the first untrusted one may be forged by
 * the client.
 * @returns undefined if there is no chain, the decisive hop is not an address, or more than 32 hops are trusted
 */
export function clientAddress(forwardedFor: string | undefined, trusted: AddressMatcher): string | undefined {
  if (forwardedFor === undefined) return undefined;
  let end = forwardedFor.length;
  for (let hop = 1; hop <= hopsMax; hop++) {
    const comma = forwardedFor.lastIndexOf(',', end - 1);
    const address = hopAddress(forwardedFor.slice(comma + 1, end));
    if (comma < 0 || address === undefined || !trusted(address)) return address;
    end = comma;
  }
  return undefined;
}

/**
 * What limits count as one client: an IPv4 address, or the /64 of an IPv6 address, whose user can use any in it.
 * @param prefix 48 for what one customer of a provider can have at most
 */
export function clientNetwork(address: string, prefix: 48 | 64 = 64): string {
  // Most are IPv4, and the expression of `isIPv6` takes longer than all else here.
  if (!address.includes(':') || address.includes('.') || !isIPv6(address)) return address;
  const [head = '', tail] = address.toLowerCase().split('::');
  const groups = head === '' ? [] : head.split(':');
  const tailGroups = tail ? tail.split(':') : [];
  const zeros = 8 - groups.length - tailGroups.length;
  const all = [...groups, ...Array.from({ length: zeros }, () => '0'), ...tailGroups];
  return all
    .slice(0, prefix / 16)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':');
}

/** The address of one hop, without port or zone; an IPv4-mapped IPv6 address as IPv4. */
function hopAddress(text: string): string | undefined {
  let hop = text.trim();
  if (hop.startsWith('[')) [, hop = ''] = /^\[(.*?)\]/.exec(hop) ?? [];
  else if (hop.includes('.') && hop.indexOf(':') === hop.lastIndexOf(':')) [hop = ''] = hop.split(':');
  [hop = ''] = hop.split('%');
  if (isIP(hop) === 0) return undefined;
  if (!/^[0:]+ffff:/i.test(hop)) return hop;
  const { address } = new SocketAddress({ address: hop, family: 'ipv6' });
  return /^::ffff:([0-9.]+)$/.exec(address)?.[1] ?? hop;
}
