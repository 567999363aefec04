import { readFileSync, statfsSync } from 'node:fs';
import { needsBuild, requireBuildable } from './binaries.ts';
import { podProcesses } from './cgroups.ts';
import { existingChains } from './firewall.ts';
import { requireFreePorts } from './ports.ts';
import { ClusterProblem } from './problem.ts';
import { ports, type IngressPorts, type Layout } from './settings.ts';

const gibibyte = 2 ** 30;

/**
 * Disk space for Go's caches, the binaries, the images and their containers; then the space when the binaries are
 * already built.
 */
const diskBytes = { toBuild: 20 * gibibyte, toRun: 6 * gibibyte };

/** Memory for the cluster, the platform on it and the linker of a build. */
const memoryBytes = 5 * gibibyte;

/**
 * Checks everything that could prevent the cluster from starting, before anything is built. Do not call it while this
 * cluster's processes run, since they hold the ports.
 * @throws ClusterProblem with every reason
 */
export async function requireFitMachine(layout: Layout, ingress: IngressPorts): Promise<void> {
  const checks: (() => void | Promise<void>)[] = [
    () => requireBuildable(layout.cache),
    () => requireDisk(layout),
    () => requireMemory(),
    () => requireNoKubernetes(),
    () =>
      requireFreePorts([
        ...Object.entries(ports).map(([name, port]) => ({ name, port })),
        ...Object.entries(ingress).map(([name, port]) => ({ name: `Traefik's ${name}`, port: Number(port) })),
      ]),
  ];
  const problems: ClusterProblem[] = [];
  for (const check of checks) {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof ClusterProblem)) throw error;
      problems.push(error);
    }
  }
  const [first] = problems;
  if (first === undefined) return;
  if (problems.length === 1) throw first;
  const exitCode = problems.some((problem) => problem.exitCode === 2) ? 2 : 1;
  throw new ClusterProblem(problems.map(({ message }) => message).join('\n'), exitCode);
}

function requireDisk({ home, cache }: Layout): void {
  const { bavail, bsize } = statfsSync(home);
  const neededBytes = needsBuild(cache) ? diskBytes.toBuild : diskBytes.toRun;
  if (bavail * bsize < neededBytes) {
    throw new ClusterProblem(
      `the test cluster needs ${inGibibytes(neededBytes)} of free disk space; ${home} has ${inGibibytes(bavail * bsize)}`,
      2,
    );
  }
}

function requireMemory(): void {
  const [, kibibytes = ''] = /^MemAvailable:\s+(\d+) kB/m.exec(readFileSync('/proc/meminfo', 'utf8')) ?? [];
  const available = Number(kibibytes) * 1024;
  if (available < memoryBytes) {
    const message = `the test cluster needs ${inGibibytes(memoryBytes)} of memory; ${inGibibytes(available)} are available`;
    throw new ClusterProblem(message, 2);
  }
}

/** Another Kubernetes has rules and control groups of the same names, which stopping this cluster would remove. */
async function requireNoKubernetes(): Promise<void> {
  if ((await existingChains()).kubernetes || podProcesses().length > 0) {
    throw new ClusterProblem('another Kubernetes runs on this machine, or left its firewall rules; remove it first');
  }
}

function inGibibytes(bytes: number): string {
  return `${(bytes / gibibyte).toFixed(1)} GiB`;
}
