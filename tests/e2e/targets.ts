import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { homeAt } from '../../infra/local/home.ts';
import { endOrphans } from '../../infra/local/node/orphans.ts';
import { stopSupervisor } from '../../infra/local/supervisor.ts';
import { upLocal } from '../../infra/local/up.ts';
import { ferretdb, findBinary, minio } from '../../infra/testcluster/binaries.ts';
import { down, paths } from '../../infra/testcluster/cluster.ts';
import { upCluster } from '../../infra/testcluster/platform.ts';
import { lineProgress } from '../../infra/testcluster/progress.ts';
import { defaultHome, layoutOf } from '../../infra/testcluster/settings.ts';
import type { Suite } from '../suite.ts';

/** What the platform can run on: the embedded default or the test cluster. */
export const targetNames = ['local', 'cluster'] as const;

export type TargetName = (typeof targetNames)[number];

/** A platform for end-to-end tests. */
export interface TestPlatform {
  /** By which tests find it. */
  env: NodeJS.ProcessEnv;
  /** Takes it down, and away what it left. */
  remove: () => Promise<void>;
}

interface BringUpOptions {
  /** Its folder; default one of its own, which goes with it. */
  folder?: string | undefined;
  /** Whether it outlives us. Default false. */
  keep?: boolean;
  log: (line: string) => void;
}

/** Brings the platform up on a target, with failpoints. @throws Error when a step fails, with what it said */
export async function bringUp(
  target: TargetName,
  { folder, keep = false, log }: BringUpOptions,
): Promise<TestPlatform> {
  const home = folder ?? mkdtempSync(join(tmpdir(), 'svc-test-home-'));
  const forget = () => {
    if (folder === undefined) rmSync(home, { recursive: true, force: true });
  };
  if (target === 'local') {
    // No package has MinIO or FerretDB; where the cluster's images were built, there are some to run here, too.
    const built = [minio, ferretdb].map((tool) => findBinary(tool, layoutOf(defaultHome()).cache));
    const folders = built.flatMap((program) => (program === undefined ? [] : [dirname(program)]));
    const path = [...folders, process.env['PATH'] ?? ''].join(':');
    // One of our own ends with us, however we end.
    await upLocal({ folder: home, attached: folder === undefined && !keep, path, failpoints: true, log });
    const remove = async () => {
      await stopSupervisor(homeAt(home));
      // One that was killed left its pods, and with the folder goes what tells of them.
      await endOrphans(join(homeAt(home).node, 'pods'));
      forget();
    };
    return { env: { SVC_HOME: home }, remove };
  }
  await upCluster({ folder: home, failpoints: true, log });
  const remove = async () => {
    await down({ progress: lineProgress(log) });
    forget();
  };
  return { env: { SVC_HOME: home, SVC_TEST_KUBECONFIG: paths().kubeconfig }, remove };
}

/**
 * Runs end-to-end files on a platform: two at a time, each in projects of its own, and then one by one those that kill,
 * replace or reconfigure what all use.
 * @param files default all that are for every target or for this one
 */
export async function endToEnd(
  suite: Suite,
  target: TargetName,
  env: NodeJS.ProcessEnv,
  files: readonly string[] = ['tests/e2e/*.test.ts', 'tests/e2e/disruptive/*.test.ts', `tests/e2e/${target}/*.test.ts`],
): Promise<void> {
  const isShared = (file: string) => /(^|\/)e2e\/[^/]+$/.test(file);
  for (const [jobs, chosen] of [
    [2, files.filter(isShared)],
    [1, files.filter((file) => !isShared(file))],
  ] as const) {
    if (chosen.length === 0) continue;
    const what = jobs === 1 ? 'end-to-end tests that disturb the platform' : 'end-to-end tests';
    // Excluded from the ordinary run. They wait for the platform, and how long that takes is the machine's matter: the
    // limit, for a file, only ends what will never come.
    const parameters = [`--jobs=${jobs}`, '--exclude=', ...chosen.map((file) => `--include=${file}`), '--timeout=900'];
    await suite.tests(`${what}, target ${target}`, parameters, env, target);
  }
}
