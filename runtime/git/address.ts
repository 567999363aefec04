import { lookup as systemLookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { createAddressMatcher } from '../domain/address.ts';
import { addressOfGit } from '../domain/git-source.ts';
import { mayBeSentTo } from '../domain/public-address.ts';
import { GitError } from './failure.ts';
import type { GitOptions } from './git.ts';

/**
 * Resolves the host of a repository once and checks its addresses, because git runs inside the cluster, where a user's URL
 * could point to the platform's own databases. Whatever starts git for a user's URL calls this before.
 * @param networks private networks that the platform's admin allowed
 * @param lookup all addresses of a name; default the system's resolver
 * @returns the addresses for git, which must not resolve the name again: it could then get other ones
 * @throws GitError
 */
export async function resolveGitHost(
  url: string,
  networks: readonly string[],
  lookup: (host: string) => Promise<readonly { address: string }[]> = (host) => systemLookup(host, { all: true }),
): Promise<Pick<GitOptions, 'resolved' | 'sshAddress'>> {
  const { host, port, overSsh } = addressOfGit(url);
  const allowed = createAddressMatcher(networks);
  const literal = isIP(host) !== 0;
  const addresses = literal
    ? [{ address: host }]
    : await lookup(host).catch(() => {
        throw new GitError(`The host ${host} cannot be resolved.`);
      });
  // The message names no address, because users must not learn the addresses of a private network.
  if (addresses.length === 0 || addresses.some(({ address }) => !mayBeSentTo(address, allowed))) {
    throw new GitError(
      `${host} is in a private network that git sources may not use. A platform admin can allow it: svc platform config set --git-network`,
      'address',
    );
  }
  if (literal) return {};
  if (overSsh) return { sshAddress: addresses[0]?.address };
  const literals = addresses.map(({ address }) => (isIP(address) === 6 ? `[${address}]` : address));
  return { resolved: [`${host}:${port}:${literals.join(',')}`] };
}
