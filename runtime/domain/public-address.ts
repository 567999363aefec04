import { isIP } from 'node:net';
import { createAddressMatcher, type AddressMatcher } from './address.ts';
import { ipv4InIpv6 } from './network.ts';

/**
 * Networks that are not part of the public internet: private, loopback, link-local (including cloud metadata), shared,
 * documentation, benchmarks, multicast and reserved.
 * https://www.iana.org/assignments/iana-ipv4-special-registry
 */
const notPublicIpv4 = createAddressMatcher([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]);

/** The addresses assigned so far; the rest is special-purpose or unassigned. RFC 4291, section 2.4 */
const globalIpv6 = createAddressMatcher(['2000::/3']);
/** Special-purpose networks within those: https://www.iana.org/assignments/iana-ipv6-special-registry */
const notPublicIpv6 = createAddressMatcher(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']);

/**
 * Whether users who are not platform admins may make the platform connect to an address: a public one, or one in a network
 * that the admin allowed. An IPv4 address in IPv6 form (mapped, NAT64) is treated as IPv4.
 */
export function mayBeSentTo(address: string, allowed: AddressMatcher): boolean {
  const family = isIP(address);
  // Only link-local addresses have a zone.
  if (address.includes('%')) return false;
  if (family === 0) return false;
  if (family === 4) return !notPublicIpv4(address) || allowed(address);
  const inner = ipv4InIpv6(address);
  if (inner !== undefined) return mayBeSentTo(inner, allowed);
  return (globalIpv6(address) && !notPublicIpv6(address)) || allowed(address);
}
