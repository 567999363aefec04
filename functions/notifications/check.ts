import { isIP } from 'node:net';
import { createAddressMatcher } from '../../runtime/domain/address.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { mayBeSentTo } from '../../runtime/domain/public-address.ts';

/**
 * Checks a receiver's URL; its name is resolved and checked again for each attempt.
 * @returns the URL without its fragment @throws Problem `invalid_value`
 */
export function checkReceiver(typed: string, allowedNetworks: readonly string[]): string {
  const url = URL.parse(typed);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw refusal('Set a URL that starts with https:// or http://.');
  }
  if (url.username !== '' || url.password !== '') {
    throw refusal('The URL must not contain a user name or password; messages are signed instead.');
  }
  url.hash = '';
  const literal = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(literal) !== 0 && !mayBeSentTo(literal, createAddressMatcher(allowedNetworks))) {
    throw refusal(
      `${url.hostname} is not in a network that notifications may be sent to. A platform admin can allow one: ` +
        'svc platform config set --notification-network <network>',
    );
  }
  return url.href;
}

function refusal(message: string): Problem {
  return new Problem('invalid_value', message, { details: { field: 'url' } });
}
