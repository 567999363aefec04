import { parseArgs } from 'node:util';
import { createAddressMatcher, type AddressMatcher } from '../../runtime/domain/address.ts';

/** What svc-authz is told on its command line. */
export interface AuthzArguments {
  /** Proxies in front of the ingress, whose word on the hop before them counts; none by default. */
  trustedProxies: AddressMatcher;
}

/**
 * Reads `--trusted-proxy <address or network>`, which may be repeated.
 * @throws Error that says what is wrong
 */
export function parseAuthzArguments(args: string[]): AuthzArguments {
  const { values } = parseArgs({ args, options: { 'trusted-proxy': { type: 'string', multiple: true } } });
  try {
    return { trustedProxies: createAddressMatcher(values['trusted-proxy'] ?? []) };
  } catch (error) {
    throw new Error(`--trusted-proxy: ${(error as Error).message}`, { cause: error });
  }
}
