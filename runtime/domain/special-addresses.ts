import { isIPv6 } from 'node:net';
import { createAddressMatcher } from './address.ts';
import { parseNetwork } from './network.ts';

/**
 * IPv4 networks that are not part of the public internet, in one list for every check of addresses.
 * https://www.iana.org/assignments/iana-ipv4-special-registry
 */
const ipv4 = [
  // This host, loopback and link-local, where clouds serve the credentials of their machines.
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  // Private use, shared with a provider's network (Alibaba Cloud serves metadata there), and protocol assignments
  // (Oracle Cloud does).
  '10.0.0.0/8',
  '100.64.0.0/10',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '192.0.0.0/24',
  // Azure's platform, which every machine reaches under this public address:
  // https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
  '168.63.129.16/32',
  // Documentation, former 6to4 relays, benchmarks, multicast and reserved.
  '192.0.2.0/24',
  '192.88.99.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];

/**
 * IPv6 networks that are not part of the public internet. https://www.iana.org/assignments/iana-ipv6-special-registry
 */
const ipv6 = [
  // Unspecified, loopback, and IPv4 in IPv6.
  '::/16',
  // NAT64 to an operator's own networks.
  '64:ff9b:1::/48',
  // Discarded; Teredo and other protocol assignments; documentation; 6to4; segment routing.
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  '5f00::/16',
  // Private use (Amazon and Google serve metadata there), link-local, formerly site-local, multicast.
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
];

/** An IPv4 network as NAT64 reaches it (RFC 6052). */
function throughNat64(network: string): string {
  const [address = '', length = ''] = network.split('/');
  const parsed = parseNetwork(`64:ff9b::${address}/${96 + Number(length)}`);
  if ('fault' in parsed) throw new Error(parsed.fault);
  return parsed.network;
}

/** The networks that are not part of the public internet, by family; of IPv6 also what NAT64 leads to those of IPv4. */
export const specialNetworks: Readonly<Record<'ipv4' | 'ipv6', readonly string[]>> = {
  ipv4,
  ipv6: [...ipv6, ...ipv4.map(throughNat64)],
};

// One for each family: node:net finds an IPv4 address in networks of IPv6 too, as a mapped address.
const isSpecialIpv4 = createAddressMatcher(specialNetworks.ipv4);
const isSpecialIpv6 = createAddressMatcher(specialNetworks.ipv6);

/** Whether an address is in one of {@link specialNetworks} of its family; false for text that is not an address. */
export function isSpecialAddress(address: string): boolean {
  return isIPv6(address) ? isSpecialIpv6(address) : isSpecialIpv4(address);
}
