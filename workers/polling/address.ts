import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { createAddressMatcher } from '../../runtime/domain/address.ts';
import { addressOfGit } from '../../runtime/domain/git-source.ts';
import { mayBeSentTo } from '../../runtime/domain/public-address.ts';
import type { GitOptions } from '../../runtime/host/git.ts';
import { GitError } from '../../runtime/host/git-failure.ts';

/**
 * Looks up the host of a repository once and judges what it leads to: this process is inside the cluster, where an address
 * that somebody made up could lead to the platform's own stores.
 * @param networks private networks that the platform's admin opened
 * @returns what git is told to ask, so that a name that answers differently a moment later gains nothing
 * @throws GitError
 */
export async function resolveGitHost(
  url: string,
  networks: readonly string[],
): Promise<Pick<GitOptions, 'resolved' | 'sshAddress'>> {
  const { host, port, overSsh } = addressOfGit(url);
  const allowed = createAddressMatcher(networks);
  const literal = isIP(host) !== 0;
  const found = literal
    ? [{ address: host }]
    : await lookup(host, { all: true }).catch(() => {
        throw new GitError(`The host ${host} is not known.`);
      });
  // Names no address: what the platform's resolver knows of a private network is not the repository's to tell.
  if (found.length === 0 || found.some(({ address }) => !mayBeSentTo(address, allowed))) {
    throw new GitError(
      `${host} is in no network that git may be fetched from; an admin of the platform can open one: svc install --git-network`,
      'address',
    );
  }
  if (literal) return {};
  if (overSsh) return { sshAddress: found[0]?.address };
  const addresses = found.map(({ address }) => (isIP(address) === 6 ? `[${address}]` : address));
  return { resolved: [`${host}:${port}:${addresses.join(',')}`] };
}
