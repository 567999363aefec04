import { checkReceiverUrl, invalidValue } from '../../runtime/api/receiver-address.ts';
import { assistantUrl } from '../../runtime/domain/assistant.ts';

/**
 * Checks the base address of a provider; its name is resolved and checked again for each request.
 * @returns the address without a slash at its end @throws Problem `invalid_value`
 */
export function checkProviderUrl(typed: string, networks: readonly string[]): string {
  const url = checkReceiverUrl(typed, networks, {
    credentials: 'Set a key instead.',
    command: 'svc platform assistant set --network <network>',
  });
  if (url.search !== '' || url.hash !== '') {
    throw invalidValue(
      'url',
      'Set the base address of the server, without a query, such as https://api.openai.com/v1.',
    );
  }
  return assistantUrl(url);
}

/** @throws Problem `invalid_value`, which does not contain the key */
export function checkProviderKey(key: string): void {
  if (/^[\x21-\x7e]+$/.test(key)) return;
  throw invalidValue('key', 'The key takes printable ASCII characters without spaces, and cannot be empty.');
}
