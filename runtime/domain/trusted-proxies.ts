import { parseArgs } from 'node:util';
import { createAddressMatcher, type AddressMatcher } from './address.ts';

const name = 'trusted-proxy';
const flag = `--${name}`;

/**
 * Parses the command line of a process that uses the client's address: `--trusted-proxy <address or network>`, which
 * may be repeated. These proxies are trusted to report the hop before them; default none.
 * @throws Error that says what is wrong
 */
export function parseTrustedProxies(args: string[]): AddressMatcher {
  const { values } = parseArgs({ args, options: { [name]: { type: 'string', multiple: true } } });
  try {
    return createAddressMatcher(values[name] ?? []);
  } catch (error) {
    throw new Error(`${flag}: ${(error as Error).message}`, { cause: error });
  }
}

/** The arguments that start such a process. */
export function trustedProxyArguments(networks: readonly string[]): string[] {
  return networks.flatMap((network) => [flag, network]);
}

/** The command with its trusted proxies replaced. Pure. */
export function withTrustedProxies(command: readonly string[], networks: readonly string[]): string[] {
  const otherWords = command.filter((word, index) => word !== flag && command[index - 1] !== flag);
  return [...otherWords, ...trustedProxyArguments(networks)];
}
