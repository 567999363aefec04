import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { ClusterProblem } from './problem.ts';

/** Waiting is reported after this time. */
const waitMessageMilliseconds = 1000;

/**
 * Runs `work` while no other process holds the same lock file.
 * @param waitSeconds how long to wait for the lock
 * @param onWait called when another process holds the lock
 * @throws ClusterProblem when the lock is not free in time, and whatever `work` throws
 */
export async function withLock<T>(
  file: string,
  waitSeconds: number,
  onWait: () => void,
  work: () => Promise<T>,
): Promise<T> {
  mkdirSync(dirname(file), { recursive: true });
  // The kernel releases this lock when the holder's process ends. A lock file with a process id could become stale.
  const holder = spawn('flock', ['--wait', String(waitSeconds), file, 'sh', '-c', 'echo held && exec cat'], {
    detached: true, // Ctrl-C must not end the holder before the clean-up
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ended = new Promise<void>((resolve) => holder.once('close', () => resolve()));
  const timer = setTimeout(onWait, waitMessageMilliseconds);
  const acquired = await new Promise<boolean>((resolve) => {
    holder.once('error', () => resolve(false));
    holder.once('exit', () => resolve(false));
    holder.stdout.once('data', () => resolve(true));
  });
  clearTimeout(timer);
  if (!acquired)
    throw new ClusterProblem(
      `Another command is changing the test cluster (lock file ${file}). Try again when it has finished.`,
    );
  try {
    return await work();
  } finally {
    holder.stdin.end();
    await ended;
  }
}
