import { spawn, spawnSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { findBinary, tools } from '../../infra/testcluster/binaries.ts';
import { defaultHome, layoutOf } from '../../infra/testcluster/settings.ts';

/**
 * The kubectl of the test cluster's version, once the cluster has been built. The link to it is beside the program that was
 * built: the one of the cluster goes when the cluster is taken down, while tests on the embedded cluster still run.
 */
function builtKubectl(): string | undefined {
  const tool = tools.find(({ name }) => name === 'kubernetes');
  const program = tool && findBinary(tool, layoutOf(defaultHome()).cache);
  if (program === undefined) return undefined;
  const link = join(dirname(program), 'kubectl');
  try {
    symlinkSync(program, link);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return link;
}

const built = builtKubectl();
/** The test cluster's kubectl, which has its version; otherwise the one on PATH. */
export const kubectlProgram = built ?? 'kubectl';

/**
 * Variables for kubectl. Its garbage collector would take a third of the processor time of a short call; a long one
 * collects when it uses this much memory (https://go.dev/doc/gc-guide#Memory_limit).
 */
export const kubectlEnv = { GOGC: 'off', GOMEMLIMIT: '256MiB' } as const;

/** Why tests that call kubectl are skipped, or false when it is installed; for tap's `skip`. */
export const noKubectl: string | false =
  built === undefined && spawnSync(kubectlProgram, ['version', '--client'], { stdio: 'ignore' }).error
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
