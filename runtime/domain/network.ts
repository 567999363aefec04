import { isIP } from 'node:net';

/** A parsed network, or why the text is invalid, for people. */
export type ParsedNetwork = { network: string } | { fault: string };

/**
 * Parses a network in CIDR notation, or an address, into its normal form: `10.0.0.0/8`,
 * `2001:db8::/32`, `192.0.2.7/32`. A network with host bits set is usually a mistake: it is refused, and the
 * fault suggests the network that was probably meant.
 */
export function parseNetwork(text: string): ParsedNetwork {
  const [, address = '', length] = /^([0-9a-fA-F.:]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? [];
  const family = isIP(address);
  const bits = family === 4 ? 32 : 128;
  const prefix = length === undefined ? bits : Number(length);
  if (family === 0 || prefix > bits) return { fault: `"${text}" is not an address or a network such as 192.0.2.0/24` };
  const value = family === 4 ? ipv4Value(address) : ipv6Value(address);
  // The gate sees such clients by their IPv4 address.
  if (family === 6 && value >> 32n === 0xffffn) {
    return { fault: `"${text}" is an IPv4-mapped IPv6 address; write it as IPv4` };
  }
  const host = (1n << BigInt(bits - prefix)) - 1n;
  const network = `${(family === 4 ? ipv4Text : ipv6Text)(value & ~host)}/${prefix}`;
  if ((value & host) !== 0n) return { fault: `"${text}" has host bits set; the network is ${network}` };
  return { network };
}

/** https://www.iana.org/assignments/iana-ipv4-special-registry https://www.iana.org/assignments/iana-ipv6-special-registry */
const privateNetworks = ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'];

/** Whether a network is entirely within the networks for private use. */
export function isPrivateNetwork(network: string): boolean {
  return privateNetworks.some((outer) => networkContains(outer, network));
}

/** Whether an address is one for private use, loopback or link-local, which is no address of a client on the internet. */
export function isInternalAddress(address: string): boolean {
  const parsed = parseNetwork(address);
  if ('fault' in parsed) return false;
  return [...privateNetworks, ...loopbackNetworks, ...linkLocalNetworks].some((whole) =>
    networkContains(whole, parsed.network),
  );
}

const linkLocalNetworks = ['169.254.0.0/16', 'fe80::/10'];

/** Loopback networks. */
const loopbackNetworks = ['127.0.0.0/8', '::1/128'];

/** Whether a network is entirely within the loopback networks. */
export function isLoopbackNetwork(network: string): boolean {
  return loopbackNetworks.some((outer) => networkContains(outer, network));
}

/**
 * The IPv4 address in an IPv6 address: mapped (`::ffff:a.b.c.d`, RFC 4291) or behind NAT64 (`64:ff9b::/96`,
 * RFC 6052); undefined for any other.
 */
export function ipv4InIpv6(address: string): string | undefined {
  const value = ipv6Value(address);
  const before = value >> 32n;
  return before === 0xffffn || before === 0x64_ff9b_0000_0000_0000_0000n ? ipv4Text(value & 0xffff_ffffn) : undefined;
}

/** Whether the network `inner` is entirely within `outer`; both as {@link parseNetwork} returns them. */
export function networkContains(outer: string, inner: string): boolean {
  const [outerBounds, innerBounds] = [bounds(outer), bounds(inner)];
  return (
    outerBounds.bits === innerBounds.bits &&
    outerBounds.first <= innerBounds.first &&
    innerBounds.last <= outerBounds.last
  );
}

function bounds(network: string): { bits: number; first: bigint; last: bigint } {
  const [address = '', prefix] = network.split('/');
  const bits = address.includes(':') ? 128 : 32;
  const first = bits === 128 ? ipv6Value(address) : ipv4Value(address);
  return { bits, first, last: first + (1n << BigInt(bits - Number(prefix))) - 1n };
}

function ipv4Value(address: string): bigint {
  return address.split('.').reduce((value, part) => value * 256n + BigInt(part), 0n);
}

function ipv4Text(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.');
}

/** The WHATWG URL parser formats IPv6 addresses as in RFC 5952. */
function canonicalIpv6(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}

function ipv6Value(address: string): bigint {
  const [head, tail] = canonicalIpv6(address).split('::');
  const groups = (text: string | undefined) => (text ? text.split(':') : []);
  const [before, after] = [groups(head), groups(tail)];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].reduce((value, group) => value * 65_536n + BigInt(`0x${group}`), 0n);
}

function ipv6Text(value: bigint): string {
  const groups = Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - 16 * index)) & 0xffffn).toString(16));
  return canonicalIpv6(groups.join(':'));
}
