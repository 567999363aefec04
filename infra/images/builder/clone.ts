import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolveGitHost } from '../../../runtime/git/address.ts';
import { createGit, type Git, type GitCredentials } from '../../../runtime/git/git.ts';
import { GitError } from '../../../runtime/git/failure.ts';
import { BuildFailure } from './failure.ts';
import type { BuildSettings } from './settings.ts';

/** The commit that is built, which is the termination message of the container that fetches it. */
export interface Commit {
  commit: string;
  commitMessage: string;
  commitAuthor: string;
}

export const sourceFolder = (workspace: string) => join(workspace, 'source');

const fetchMs = 10 * 60_000;
const quickMs = 60_000;
/** How many commits of the branch are searched for a commit that the server does not serve by its hash. */
const searchDepth = 1_000;

/**
 * Fetches one commit into `<workspace>/source`, without history and submodules. Only this step has the credentials.
 * @param options.credentialsFolder the files of the app's credentials, if it has any
 * @throws BuildFailure
 */
export async function clone(
  { workspace, url, branch, commit, hostKeys, gitNetworks }: Omit<BuildSettings, 'url'> & { url: string },
  { credentialsFolder, env }: { credentialsFolder: string; env: Readonly<Record<string, string | undefined>> },
): Promise<Commit> {
  const folder = mkdtempSync(join(tmpdir(), 'git-'));
  const source = sourceFolder(workspace);
  mkdirSync(source, { recursive: true });
  try {
    // Checked as before a poll: a webhook's commit is built without one, and the name may resolve differently by now.
    const addresses = await resolveGitHost(url, gitNetworks);
    const git = createGit({ folder, credentials: credentialsIn(credentialsFolder), ...addresses, hostKeys, env });
    const runGit = (args: readonly string[], timeoutMs = quickMs) =>
      git(['-C', source, ...args], { timeoutMs, onOutput: (text) => process.stdout.write(text) });
    await runGit(['init', '--quiet']);
    await runGit(['remote', 'add', '--', 'origin', url]);
    const hash = await fetchCommit(runGit, { url, branch, commit });
    await runGit(['checkout', '--quiet', '--detach', hash]);
    const [message = '', author = ''] = (await runGit(['log', '-1', '--format=%s%n%an', hash])).split('\n');
    // The build needs no history and must not have the server's address.
    rmSync(join(source, '.git'), { recursive: true, force: true });
    const commitMessage = message.slice(0, 200);
    process.stdout.write(`commit ${hash.slice(0, 12)} ${commitMessage}\n`);
    return { commit: hash, commitMessage, commitAuthor: author.slice(0, 100) };
  } catch (error) {
    if (error instanceof GitError) throw new BuildFailure(error.message);
    throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function fetchCommit(
  runGit: (args: readonly string[], timeoutMs?: number) => ReturnType<Git>,
  { url, branch, commit }: Pick<BuildSettings, 'branch' | 'commit'> & { url: string },
): Promise<string> {
  const fetch = (depth: number, reference: string) =>
    runGit(
      ['fetch', '--quiet', '--no-tags', '--no-recurse-submodules', `--depth=${depth}`, '--', 'origin', reference],
      fetchMs,
    );
  const resolve = async (name: string) =>
    (await runGit(['rev-parse', '--verify', '--quiet', `${name}^{commit}`])).trim();
  process.stdout.write(`fetching ${commit ?? branch ?? 'the default branch'} from ${url}\n`);
  const tip = branch === undefined ? 'HEAD' : `refs/heads/${branch}`;
  if (commit === undefined) {
    await fetch(1, tip);
    return resolve('FETCH_HEAD');
  }
  if (commit.length >= 40) {
    try {
      await fetch(1, commit);
      return await resolve(commit);
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
    }
  }
  await fetch(searchDepth, tip);
  return resolve(commit).catch(() => {
    throw new BuildFailure(`commit ${commit} is not among the last ${searchDepth} commits of the branch`);
  });
}

/** The app's credentials from their mounted files. */
function credentialsIn(folder: string): GitCredentials | undefined {
  const read = (name: string) => {
    const file = join(folder, name);
    return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
  };
  const [token, deployKey] = [read('token'), read('deployKey')];
  if (token) return { token, username: read('username') };
  return deployKey ? { deployKey } : undefined;
}
