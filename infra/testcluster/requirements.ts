import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { attempt, run } from './command.ts';
import type { Machine } from './configuration.ts';
import { readKernelSetting } from './kernel-settings.ts';
import { ClusterProblem } from './problem.ts';
import type { Progress } from './progress.ts';

/** The search path for programs. It includes the administrators' folders, which a user's PATH may lack. */
export const systemPath = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** Required Debian packages, each with a program that shows that it is installed. */
const packages: readonly { readonly name: string; readonly program: string }[] = [
  { name: 'containerd', program: 'containerd' },
  { name: 'runc', program: 'runc' },
  { name: 'containernetworking-plugins', program: '/usr/lib/cni/bridge' },
  { name: 'iptables', program: 'iptables-restore' },
  { name: 'iproute2', program: 'ip' },
  { name: 'conntrack', program: 'conntrack' },
  { name: 'ethtool', program: 'ethtool' },
  { name: 'socat', program: 'socat' },
  { name: 'ipset', program: 'ipset' },
  { name: 'openssl', program: 'openssl' },
  { name: 'docker-registry', program: 'docker-registry' },
  { name: 'buildah', program: 'buildah' },
  { name: 'debootstrap', program: 'debootstrap' },
];

/**
 * Checks that this machine can run the cluster at all.
 * @throws ClusterProblem with exit code 2 and the requirements
 */
export function requireLinuxRoot(): void {
  if (process.platform !== 'linux')
    throw new ClusterProblem('The test cluster needs Linux, because it runs real containers.', 2);
  if (process.getuid?.() !== 0) {
    throw new ClusterProblem('The test cluster needs root to create bridges, firewall rules and containers.', 2);
  }
}

/** The packages that are not installed. */
function missingPackages(): string[] {
  return packages.filter(({ program }) => !isInstalled(program)).map(({ name }) => name);
}

function isInstalled(program: string): boolean {
  return program.startsWith('/') ? existsSync(program) : systemPath.some((folder) => existsSync(join(folder, program)));
}

/** @throws ClusterProblem when packages are missing and there is no apt-get to install them */
export function requirePackages(): void {
  const missing = missingPackages();
  if (missing.length > 0 && !isInstalled('apt-get')) {
    const message = `install these packages, or their equivalents, for the test cluster: ${missing.join(' ')}`;
    throw new ClusterProblem(message, 2);
  }
}

/**
 * Installs the missing packages. Source: the system's own package manager (Debian's).
 * @throws ClusterProblem when there is no apt-get, or it fails
 */
export async function installPackages(progress: Progress): Promise<void> {
  requirePackages();
  const missing = missingPackages();
  if (missing.length > 0) await progress.stage(`install ${missing.join(' ')}`, () => installWithApt(missing));
}

/** Installs Debian packages as root, without starting the services that they bring. @throws ClusterProblem */
export async function installWithApt(names: readonly string[]): Promise<void> {
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const install = ['install', '--yes', '--quiet', '--no-install-recommends', ...names];
  await withoutServices(async () => {
    // The package lists may be missing or outdated.
    if ((await attempt('apt-get', install, { environment })).code === 0) return;
    await run('apt-get', ['update', '--quiet'], { environment });
    await run('apt-get', install, { environment });
  });
}

/** Debian packages run this file to decide whether to start their service after installation. */
const policyFile = '/usr/sbin/policy-rc.d';

async function withoutServices(work: () => Promise<void>): Promise<void> {
  const isOwnFile = !existsSync(policyFile);
  if (isOwnFile) writeFileSync(policyFile, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    await work();
  } finally {
    if (isOwnFile) rmSync(policyFile, { force: true });
  }
}

/** The properties of this machine that the configuration needs. */
export function inspectMachine(): Machine {
  const candidates = ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf'].filter((file) => existsSync(file));
  // Pods cannot reach a resolver on the machine's loopback address.
  const reachable = candidates.find((file) => /^nameserver\s+(?!127\.|::1\b)/m.test(readFileSync(file, 'utf8')));
  return {
    resolverFile: reachable ?? '/etc/resolv.conf',
    bridgeTrafficFiltered: readKernelSetting('net/bridge/bridge-nf-call-iptables') === '1',
  };
}
