import { isIP } from 'node:net';
import { createAddressMatcher, type AddressMatcher } from './address.ts';
import { ipv4InIpv6 } from './network.ts';

/**
 * What is not somebody's on the internet: private, loopback, link-local (the clouds' metadata among it), shared,
 * documentation, benchmarks, multicast and reserved.
 * https://www.iana.org/assignments/iana-ipv4-special-registry
 */
const notPublicIpv4 = createAddressMatcher([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4'],
]);

/** All that has been given out so far; the rest is for special purposes, or for nobody yet. RFC 4291, section 2.4 */
const globalIpv6 = createAddressMatcher(['2000::/3']);
/** Of these the purposes are special: https://www.iana.org/assignments/iana-ipv6-special-registry */
const notPublicIpv6 = createAddressMatcher(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']);

/**
 * Whether the platform may be sent to an address by whoever is not its admin: one on the internet, or in a network that
 * the admin allowed. An IPv4 address that is written as an IPv6 one (mapped, NAT64) is judged as what it is.
 */
export function mayBeSentTo(address: string, allowed: AddressMatcher): boolean {
  const family = isIP(address);
  // A zone goes with what is link-local only.
  if (address.includes('%')) return false;
  if (family === 0) return false;
  if (family === 4) return !notPublicIpv4(address) || allowed(address);
  const inner = ipv4InIpv6(address);
  if (inner !== undefined) return mayBeSentTo(inner, allowed);
  return (globalIpv6(address) && !notPublicIpv6(address)) || allowed(address);
}
