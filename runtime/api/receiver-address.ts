import { isIP } from 'node:net';
import { createAddressMatcher } from '../domain/address.ts';
import { parseNetwork } from '../domain/network.ts';
import { Problem } from '../domain/problem.ts';
import { mayBeSentTo } from '../domain/public-address.ts';

/**
 * Checks the address of a server that an admin names; its name is resolved and checked again for each request.
 * @param networks private networks that the admin allows
 * @param hints what to do with credentials in the URL, and the command that allows a network
 * @throws Problem `invalid_value`
 */
export function checkReceiverUrl(
  typed: string,
  networks: readonly string[],
  hints: { credentials: string; command: string },
): URL {
  const url = URL.parse(typed);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw invalidValue('url', 'Set a URL that starts with https:// or http://.');
  }
  if (url.username !== '' || url.password !== '') {
    throw invalidValue('url', `The URL must not contain a user name or password. ${hints.credentials}`);
  }
  const literal = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(literal) !== 0 && !mayBeSentTo(literal, createAddressMatcher(networks))) {
    const message = `${url.hostname} is in a private network. Name the network to allow it, such as ${literal}.`;
    throw invalidValue('networks', `${message} With the CLI: ${hints.command}`);
  }
  return url;
}

/** The networks in their normal form. @throws Problem `invalid_value` */
export function checkNetworks(typed: readonly string[]): string[] {
  const networks = typed.map((text, at) => {
    const parsed = parseNetwork(text);
    if ('fault' in parsed) throw invalidValue(`networks.${at}`, parsed.fault);
    return parsed.network;
  });
  return [...new Set(networks)];
}

/** The refusal of the value of one field. */
export function invalidValue(field: string, message: string): Problem {
  return new Problem('invalid_value', message, { details: { field } });
}
