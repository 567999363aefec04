import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { paths } from '../../infra/testcluster/cluster.ts';

/** The test cluster's own, which is of its version; without one, any other will do. */
const ofCluster = join(paths().binDir, 'kubectl');
export const kubectlProgram = existsSync(ofCluster) ? ofCluster : 'kubectl';

/** Why tests with the real kubectl are left out, or false where there is one; for tap's `skip`. */
export const noKubectl: string | false = spawnSync(kubectlProgram, ['version', '--client'], { stdio: 'ignore' }).error
  ? 'there is no kubectl'
  : false;

/** Runs kubectl to its end. */
export async function kubectl(
  kubeconfig: string,
  args: readonly string[],
  input = '',
): Promise<{ stdout: string; stderr: string; code: number | null }> {
  const child = spawn(kubectlProgram, ['--kubeconfig', kubeconfig, ...args]);
  // It may end before it has read all of it.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const code = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { stdout, stderr, code: await code };
}
