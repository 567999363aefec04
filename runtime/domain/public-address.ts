import { isIP } from 'node:net';
import { createAddressMatcher, type AddressMatcher } from './address.ts';
import { ipv4InIpv6 } from './network.ts';
import { isSpecialAddress } from './special-addresses.ts';

/** The addresses assigned so far; the rest is special-purpose or unassigned. RFC 4291, section 2.4 */
const globalIpv6 = createAddressMatcher(['2000::/3']);

/**
 * Whether users who are not platform admins may make the platform connect to an address: a public one, or one in a network
 * that the admin allowed. An IPv4 address in IPv6 form (mapped, NAT64) is treated as IPv4.
 */
export function mayBeSentTo(address: string, allowed: AddressMatcher): boolean {
  const family = isIP(address);
  // Only link-local addresses have a zone.
  if (address.includes('%')) return false;
  if (family === 0) return false;
  if (family === 4) return !isSpecialAddress(address) || allowed(address);
  const inner = ipv4InIpv6(address);
  if (inner !== undefined) return mayBeSentTo(inner, allowed);
  return (globalIpv6(address) && !isSpecialAddress(address)) || allowed(address);
}
