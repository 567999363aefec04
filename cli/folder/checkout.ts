import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The commit that a folder is a checkout of. */
export interface Checkout {
  commit: string;
  /** Whether the folder differs from the commit. */
  dirty: boolean;
  commitMessage: string;
  branch?: string;
}

/** The commit of a folder; undefined outside a git repository, without a commit, and without git. */
export async function checkoutOf(folder: string): Promise<Checkout | undefined> {
  const git = async (...args: string[]) =>
    // Hooks and file system monitors are programs that a repository may name.
    (await run('git', ['-c', 'core.fsmonitor=false', '-C', folder, ...args], { timeout: 10_000 })).stdout.trim();
  try {
    const [commit = '', ...message] = (await git('log', '-1', '--format=%H%n%s')).split('\n');
    const [changes, branch] = await Promise.all([
      git('status', '--porcelain', '--', '.'),
      git('rev-parse', '--abbrev-ref', 'HEAD'),
    ]);
    return {
      commit,
      dirty: changes !== '',
      commitMessage: message.join(' ').slice(0, 200),
      ...(branch !== 'HEAD' && { branch }),
    };
  } catch {
    return undefined;
  }
}
