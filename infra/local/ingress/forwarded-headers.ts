import type { AddressMatcher } from '../../../runtime/domain/address.ts';
import type { RouteRequest } from './exchange.ts';
import { canonicalName, firstValue, listMembers } from './headers.ts';

/** What the entry point vouches for, and so takes from nobody whom it does not trust. */
const vouched = [
  ...['X-Forwarded-Proto', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Port', 'X-Forwarded-Server'],
  ...['X-Forwarded-Uri', 'X-Forwarded-Method', 'X-Forwarded-Prefix', 'X-Forwarded-Tls-Client-Cert'],
  ...['X-Forwarded-Tls-Client-Cert-Info', 'X-Real-Ip'],
];

/**
 * Makes the X-Forwarded headers say what was seen here, as Traefik's entry point does before any rule is looked at, and
 * then drops what Connection names: so nothing that is added later can be taken away by the client.
 * @param options.trusted whose own X-Forwarded headers stay
 * @param options.server for X-Forwarded-Server
 */
export function setForwardedHeaders(
  { headers, host, remoteAddress, upgrade }: RouteRequest,
  options: { trusted: AddressMatcher; server: string },
): void {
  if (!options.trusted(remoteAddress)) for (const name of vouched) headers.delete(name);
  const setDefault = (name: string, value: string) => {
    if (firstValue(headers, name) === '') headers.set(name, [value]);
  };
  setDefault('X-Real-Ip', remoteAddress);
  setDefault('X-Forwarded-Proto', upgrade?.toLowerCase() === 'websocket' ? 'ws' : 'http');
  const secure = ['https', 'wss'].includes(firstValue(headers, 'X-Forwarded-Proto'));
  setDefault('X-Forwarded-Port', /:(\d+)$/.exec(host)?.[1] ?? (secure ? '443' : '80'));
  setDefault('X-Forwarded-Host', host);
  const chain = headers.get('X-Forwarded-For');
  if (chain) headers.set('X-Forwarded-For', [chain.join(', ')]);
  headers.set('X-Forwarded-Server', [options.server]);

  for (const member of listMembers(headers, 'Connection')) {
    const named = canonicalName(member);
    if (!vouched.includes(named)) headers.delete(named);
  }
  headers.delete('Connection');
}

/** Adds the client's address to the chain, for the server behind; a chain that a layer emptied stays away. */
export function appendClient({ headers, remoteAddress }: RouteRequest): void {
  const chain = headers.get('X-Forwarded-For');
  if (chain?.length === 0) return;
  headers.set('X-Forwarded-For', [[...(chain ?? []), remoteAddress].join(', ')]);
}
