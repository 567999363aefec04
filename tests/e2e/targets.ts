import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { homeAt } from '../../infra/local/home.ts';
import { killOrphans } from '../../infra/local/node/orphans.ts';
import { stopSupervisor } from '../../infra/local/supervisor.ts';
import { upLocal } from '../../infra/local/up.ts';
import { ferretdb, findBinary, minio } from '../../infra/testcluster/binaries.ts';
import { down, paths } from '../../infra/testcluster/cluster.ts';
import { upCluster } from '../../infra/testcluster/platform.ts';
import { lineProgress } from '../../infra/testcluster/progress.ts';
import { defaultHome, layoutOf } from '../../infra/testcluster/settings.ts';
import type { Suite } from '../suite.ts';

const root = join(import.meta.dirname, '../..');

/** Where the platform runs: the embedded cluster or the test cluster. */
export const targetNames = ['local', 'cluster'] as const;

export type TargetName = (typeof targetNames)[number];

/** A platform for end-to-end tests. */
export interface TestPlatform {
  /** The environment variables by which tests find the platform. */
  env: NodeJS.ProcessEnv;
  /** Stops the platform and removes its files. */
  remove: () => Promise<void>;
}

interface BringUpOptions {
  /** The platform's folder; default: a temporary one, removed with the platform. */
  folder?: string | undefined;
  /** Whether the platform keeps running after this process. Default false. */
  keep?: boolean;
  log: (line: string) => void;
}

/** Starts the platform on a target, with failpoints. @throws Error with the output of the step that failed */
export async function bringUp(
  target: TargetName,
  { folder, keep = false, log }: BringUpOptions,
): Promise<TestPlatform> {
  const home = folder ?? mkdtempSync(join(tmpdir(), 'svc-test-home-'));
  const removeFolder = () => {
    if (folder === undefined) rmSync(home, { recursive: true, force: true });
  };
  if (target === 'local') {
    // No package has MinIO or FerretDB; use those that were built for the cluster's images.
    const built = [minio, ferretdb].map((tool) => findBinary(tool, layoutOf(defaultHome()).cache));
    const folders = built.flatMap((program) => (program === undefined ? [] : [dirname(program)]));
    const path = [...folders, process.env['PATH'] ?? ''].join(':');
    // A temporary platform ends with this process, even when it is killed.
    const attached = folder === undefined && !keep;
    // Git servers of tests run on this machine.
    await upLocal({ folder: home, attached, path, failpoints: true, gitNetworks: ['127.0.0.0/8'], log });
    const remove = async () => {
      await stopSupervisor(homeAt(home));
      // A killed node leaves its pods running, and their records are in the folder that is removed next.
      await killOrphans(join(homeAt(home).node, 'pods'));
      removeFolder();
    };
    return { env: { SVC_HOME: home }, remove };
  }
  // Git servers of tests run on this machine, which is the node.
  await upCluster({ folder: home, failpoints: true, gitNetworks: ['10.0.0.0/8'], log });
  const remove = async () => {
    await down({ progress: lineProgress(log) });
    removeFolder();
  };
  return { env: { SVC_HOME: home, SVC_TEST_KUBECONFIG: paths().kubeconfig }, remove };
}

/**
 * Kinds of end-to-end files, in the order in which they run: those that stop the cluster's API server, during which
 * nothing else may use the cluster; those that kill, replace or reconfigure parts of the platform; those that share it,
 * each in projects of its own; and those that examine what all others left behind. The disruptive ones mostly wait, so
 * they come while other tests still use the processors, and those of different {@link parts} run side by side.
 */
const kinds = {
  outage: { folder: 'outage/', jobs: 1, what: 'end-to-end tests that stop the API server' },
  disruptive: { folder: 'disruptive/', jobs: 1, what: 'end-to-end tests that disturb the platform' },
  shared: { folder: '', jobs: 5, what: 'end-to-end tests' },
  last: { folder: 'last/', jobs: 1, what: 'end-to-end tests of what the others left' },
} as const;

/**
 * What a disruptive file may disturb alone, each with a folder: a file of one part needs nothing that one of another
 * disturbs. The other disruptive files run after these, one by one.
 */
const parts = ['gate', 'deployments', 'functions'] as const;

type EndToEndKind = keyof typeof kinds;

const kindNames = Object.keys(kinds) as EndToEndKind[];

/** The end-to-end files of a target, by kind. */
export function endToEndFiles(target: TargetName): Record<EndToEndKind, string[]> {
  const files = (kind: EndToEndKind) => {
    const folder = `tests/e2e/${kinds[kind].folder}`;
    const folders = [folder, ...(kind === 'disruptive' ? parts.map((part) => `${folder}${part}/`) : [])];
    return globSync(
      folders.flatMap((each) => [`${each}*.test.ts`, `${each}${target}/*.test.ts`]),
      { cwd: root },
    ).sort();
  };
  return { outage: files('outage'), disruptive: files('disruptive'), shared: files('shared'), last: files('last') };
}

/** Runs end-to-end files on a platform, kind by kind. */
export async function endToEnd(
  suite: Suite,
  target: TargetName,
  env: NodeJS.ProcessEnv,
  files: readonly string[],
): Promise<void> {
  const byKind = Object.groupBy(files, kindOf);
  for (const kind of kindNames) {
    const { what, jobs } = kinds[kind];
    const run = async (chosen: readonly string[] = [], of: string = what) => {
      if (chosen.length === 0) return;
      // The time-out only ends a file that waits forever: how long the platform takes depends on the machine.
      const testRun = { files: chosen, jobs, timeoutSeconds: 900, servers: false };
      await suite.tests(`${of}, target ${target}`, testRun, env, { label: target });
    };
    const byPart = Object.groupBy(byKind[kind] ?? [], partOf);
    await Promise.all(parts.map((part) => run(byPart[part], `end-to-end tests that disturb the ${part}`)));
    await run(byPart.all);
  }
}

/** The part of the platform that a file disturbs, or `all`. */
function partOf(file: string): (typeof parts)[number] | 'all' {
  return parts.find((part) => file.startsWith(`tests/e2e/${kinds.disruptive.folder}${part}/`)) ?? 'all';
}

function kindOf(file: string): EndToEndKind {
  return kindNames.find((kind) => kind !== 'shared' && file.startsWith(`tests/e2e/${kinds[kind].folder}`)) ?? 'shared';
}
