import { parseArgs } from 'node:util';
import { createAddressMatcher, type AddressMatcher } from './address.ts';

const name = 'trusted-proxy';
const flag = `--${name}`;

/**
 * Reads the command line of a process that judges by the client's address: `--trusted-proxy <address or network>`, which
 * may be repeated. Proxies so named are believed about the hop before them; none by default.
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

/** What such a process is started with. */
export function trustedProxyArguments(networks: readonly string[]): string[] {
  return networks.flatMap((network) => [flag, network]);
}

/** The command with these proxies instead of those that it names; everything else as it is. Pure. */
export function withTrustedProxies(command: readonly string[], networks: readonly string[]): string[] {
  const others = command.filter((word, index) => word !== flag && command[index - 1] !== flag);
  return [...others, ...trustedProxyArguments(networks)];
}
