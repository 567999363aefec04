import { isIP } from 'node:net';
import { createAddressMatcher } from '../../runtime/domain/address.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { mayBeSentTo } from '../../runtime/domain/public-address.ts';

/**
 * Checks what can be told of a receiver's address before anything is sent; where a name leads is looked up each time that
 * something is. @returns it as it is stored @throws Problem `invalid_value`
 */
export function checkReceiver(typed: string, allowedNetworks: readonly string[]): string {
  const url = URL.parse(typed);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw refusal('Give an address that starts with https:// or http://.');
  }
  if (url.username !== '' || url.password !== '') {
    throw refusal('Give the address without a user and password; messages are signed instead.');
  }
  url.hash = '';
  const literal = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(literal) !== 0 && !mayBeSentTo(literal, createAddressMatcher(allowedNetworks))) {
    throw refusal(
      `${url.hostname} is in no network to which notifications may be sent; an admin of the platform can open one: ` +
        'svc platform config set --notification-network <network>',
    );
  }
  return url.href;
}

function refusal(message: string): Problem {
  return new Problem('invalid_value', message, { details: { field: 'url' } });
}
