import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGit, type Git, type GitCredentials } from '../../../runtime/host/git.ts';
import { GitError } from '../../../runtime/host/git-failure.ts';
import { BuildFailure } from './failure.ts';
import type { BuildSettings } from './settings.ts';

/** What is known of the commit that is built; the next step reads it beside the source. */
export interface Commit {
  commit: string;
  message: string;
  author: string;
}

export const sourceFolder = (workspace: string) => join(workspace, 'source');
export const commitFile = (workspace: string) => join(workspace, 'commit.json');

const fetchMs = 10 * 60_000;
const quickMs = 60_000;
/** A commit that the server gives out by no other name is looked for in so much of the branch's history. */
const searchDepth = 1_000;

/**
 * Fetches one commit into `<workspace>/source`, without its history and without submodules. The credentials are used here
 * and nowhere else: what builds later neither gets them nor finds them.
 * @param credentialsFolder holds the files of the app's credentials, if it has some
 * @throws BuildFailure
 */
export async function clone(
  { workspace, url, branch, commit, hostKeys }: BuildSettings,
  { credentialsFolder, env }: { credentialsFolder: string; env: Readonly<Record<string, string | undefined>> },
): Promise<Commit> {
  const folder = mkdtempSync(join(tmpdir(), 'git-'));
  const source = sourceFolder(workspace);
  mkdirSync(source, { recursive: true });
  const git = createGit({ folder, credentials: credentialsIn(credentialsFolder), hostKeys, env });
  const within = (args: readonly string[], timeoutMs = quickMs) =>
    git(['-C', source, ...args], { timeoutMs, onOutput: (text) => process.stdout.write(text) });
  try {
    await within(['init', '--quiet']);
    await within(['remote', 'add', '--', 'origin', url]);
    const found = await fetchCommit(within, { url, branch, commit });
    await within(['checkout', '--quiet', '--detach', found]);
    const [message = '', author = ''] = (await within(['log', '-1', '--format=%s%n%an', found])).split('\n');
    // What builds needs no history, and must find no way back to the server.
    rmSync(join(source, '.git'), { recursive: true, force: true });
    const known = { commit: found, message: message.slice(0, 200), author: author.slice(0, 100) };
    writeFileSync(commitFile(workspace), JSON.stringify(known));
    process.stdout.write(`commit ${found.slice(0, 12)} ${known.message}\n`);
    return known;
  } catch (error) {
    if (error instanceof GitError) throw new BuildFailure(error.message);
    throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function fetchCommit(
  within: (args: readonly string[], timeoutMs?: number) => ReturnType<Git>,
  { url, branch, commit }: Pick<BuildSettings, 'url' | 'branch' | 'commit'>,
): Promise<string> {
  const fetch = (depth: number, reference: string) =>
    within(
      ['fetch', '--quiet', '--no-tags', '--no-recurse-submodules', `--depth=${depth}`, '--', 'origin', reference],
      fetchMs,
    );
  const resolve = async (name: string) =>
    (await within(['rev-parse', '--verify', '--quiet', `${name}^{commit}`])).trim();
  process.stdout.write(`fetching ${commit ?? branch ?? 'the default branch'} of ${url}\n`);
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
    throw new BuildFailure(`the commit ${commit} is not among the last ${searchDepth} of the branch`);
  });
}

/** The app's credentials, as the platform puts them beside this step. */
function credentialsIn(folder: string): GitCredentials | undefined {
  const read = (name: string) => {
    const file = join(folder, name);
    return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
  };
  const [token, deployKey] = [read('token'), read('deployKey')];
  if (token) return { token, username: read('username') };
  return deployKey ? { deployKey } : undefined;
}
