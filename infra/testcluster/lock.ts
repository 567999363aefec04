import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { ClusterProblem } from './problem.ts';

/** A free lock is taken well within this time. */
const noticeMilliseconds = 1000;

/**
 * Runs `work` while no other process does so under the same lock file.
 * @param waitSeconds how long to wait for another to finish
 * @param onWait called when another holds the lock
 * @throws ClusterProblem when the other has not finished by then, and whatever `work` throws
 */
export async function withLock<T>(
  file: string,
  waitSeconds: number,
  onWait: () => void,
  work: () => Promise<T>,
): Promise<T> {
  mkdirSync(dirname(file), { recursive: true });
  // The kernel drops this lock when its holder ends, however it ends; a lock file with a process id in it would go stale.
  const holder = spawn('flock', ['--wait', String(waitSeconds), file, 'sh', '-c', 'echo held && exec cat'], {
    detached: true, // so that Ctrl-C reaches us alone and the lock lasts as long as the clean-up does
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ended = new Promise<void>((resolve) => holder.once('close', () => resolve()));
  const timer = setTimeout(onWait, noticeMilliseconds);
  const held = await new Promise<boolean>((resolve) => {
    holder.once('error', () => resolve(false));
    holder.once('exit', () => resolve(false));
    holder.stdout.once('data', () => resolve(true));
  });
  clearTimeout(timer);
  if (!held) throw new ClusterProblem(`another command works on the test cluster (lock ${file})`);
  try {
    return await work();
  } finally {
    holder.stdin.end();
    await ended;
  }
}
