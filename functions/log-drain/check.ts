import { checkReceiverUrl, invalidValue } from '../../runtime/api/receiver-address.ts';
import { headersFault, logDrainUrl, type LogDrainFormat } from '../../runtime/domain/log-drain.ts';

/**
 * Checks the address of a drain; its name is resolved and checked again for each request.
 * @returns the URL with the path of its format @throws Problem `invalid_value`
 */
export function checkDrainUrl(typed: string, format: LogDrainFormat, networks: readonly string[]): string {
  const url = checkReceiverUrl(typed, networks, {
    credentials: 'Set the header Authorization instead.',
    command: 'svc platform log-drain set --network <network>',
  });
  return logDrainUrl(url, format);
}

/** @throws Problem `invalid_value`, which contains no value of a header */
export function checkDrainHeaders(headers: Readonly<Record<string, string>>): void {
  const fault = headersFault(headers);
  if (fault !== undefined) throw invalidValue('headers', fault);
}
