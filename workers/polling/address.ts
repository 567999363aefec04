import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { createAddressMatcher } from '../../runtime/domain/address.ts';
import { addressOfGit } from '../../runtime/domain/git-source.ts';
import { mayBeSentTo } from '../../runtime/domain/public-address.ts';
import type { GitOptions } from '../../runtime/git/git.ts';
import { GitError } from '../../runtime/git/failure.ts';

/**
 * Resolves the host of a repository once and checks its addresses, because this process is inside the cluster, where a
 * user's URL could point to the platform's own databases.
 * @param networks private networks that the platform's admin allowed
 * @returns the addresses for git, which must not resolve the name again: it could then get other ones
 * @throws GitError
 */
export async function resolveGitHost(
  url: string,
  networks: readonly string[],
): Promise<Pick<GitOptions, 'resolved' | 'sshAddress'>> {
  const { host, port, overSsh } = addressOfGit(url);
  const allowed = createAddressMatcher(networks);
  const literal = isIP(host) !== 0;
  const addresses = literal
    ? [{ address: host }]
    : await lookup(host, { all: true }).catch(() => {
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
