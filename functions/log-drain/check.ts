import { isIP } from 'node:net';
import { createAddressMatcher } from '../../runtime/domain/address.ts';
import { headersFault, logDrainUrl, type LogDrainFormat } from '../../runtime/domain/log-drain.ts';
import { parseNetwork } from '../../runtime/domain/network.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { mayBeSentTo } from '../../runtime/domain/public-address.ts';

/**
 * Checks the address of a drain; its name is resolved and checked again for each request.
 * @returns the URL with the path of its format @throws Problem `invalid_value`
 */
export function checkDrainUrl(typed: string, format: LogDrainFormat, networks: readonly string[]): string {
  const url = URL.parse(typed);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw invalid('url', 'Set a URL that starts with https:// or http://.');
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid('url', 'The URL must not contain a user name or password. Set the header Authorization instead.');
  }
  const literal = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(literal) !== 0 && !mayBeSentTo(literal, createAddressMatcher(networks))) {
    const message = `${url.hostname} is in a private network. Name the network to allow it, such as ${literal}.`;
    throw invalid('networks', `${message} With the CLI: svc platform log-drain set --network <network>`);
  }
  return logDrainUrl(url, format);
}

/** The networks in their normal form. @throws Problem `invalid_value` */
export function checkDrainNetworks(typed: readonly string[]): string[] {
  const networks = typed.map((text, at) => {
    const parsed = parseNetwork(text);
    if ('fault' in parsed) throw invalid(`networks.${at}`, parsed.fault);
    return parsed.network;
  });
  return [...new Set(networks)];
}

/** @throws Problem `invalid_value`, which contains no value of a header */
export function checkDrainHeaders(headers: Readonly<Record<string, string>>): void {
  const fault = headersFault(headers);
  if (fault !== undefined) throw invalid('headers', fault);
}

function invalid(field: string, message: string): Problem {
  return new Problem('invalid_value', message, { details: { field } });
}
