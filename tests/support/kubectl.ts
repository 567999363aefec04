import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { paths } from '../../infra/testcluster/cluster.ts';

/** The test cluster's kubectl, which has its version; otherwise the one on PATH. */
const ofCluster = join(paths().binDir, 'kubectl');
const isOfCluster = existsSync(ofCluster);
export const kubectlProgram = isOfCluster ? ofCluster : 'kubectl';

/**
 * Variables for kubectl. Its garbage collector would take a third of the processor time of a short call; a long one
 * collects when it uses this much memory (https://go.dev/doc/gc-guide#Memory_limit).
 */
export const kubectlEnv = { GOGC: 'off', GOMEMLIMIT: '256MiB' } as const;

/** Why tests that call kubectl are skipped, or false when it is installed; for tap's `skip`. */
export const noKubectl: string | false =
  !isOfCluster && spawnSync(kubectlProgram, ['version', '--client'], { stdio: 'ignore' }).error
    ? 'kubectl is not installed'
    : false;

/** Runs kubectl and waits for its exit. */
export async function kubectl(
  kubeconfig: string,
  args: readonly string[],
  input = '',
): Promise<{ stdout: string; stderr: string; code: number | null }> {
  const child = spawn(kubectlProgram, ['--kubeconfig', kubeconfig, ...args], {
    env: { ...process.env, ...kubectlEnv },
  });
  // kubectl may exit before it has read all its input.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const code = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { stdout, stderr, code: await code };
}
