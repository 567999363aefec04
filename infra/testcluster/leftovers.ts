import { existsSync, readFileSync, readdirSync, readlinkSync, rmSync, rmdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Layout } from './settings.ts';
import { network } from './settings.ts';

/** Folders outside our own that components, or the programs they call, make at fixed paths. */
const fixedFolders = [
  ...['/var/lib/kubelet', '/var/log/containers', '/var/lib/cni', '/run/containerd', '/run/kubernetes', '/run/mount'],
];
const shimSockets = '/run/containerd/s';
const networkResults = '/var/lib/cni/results';

/** Those of the fixed folders that are missing now, and so will be ours to remove. */
export function missingFolders(): string[] {
  return fixedFolders.filter((folder) => !existsSync(folder));
}

/**
 * Removes what components left outside our folder.
 * @param layout places of the cluster, whose containers are gone and whose files are still there
 * @param missingBefore what {@link missingFolders} said before the cluster was started
 */
export function removeLeftovers(layout: Layout, missingBefore: readonly string[]): void {
  for (const socket of socketsOf(layout.run)) removeFile(socket);
  const logs = '/var/log/containers';
  for (const name of entries(logs)) if (pointsInto(join(logs, name), layout.run)) removeFile(join(logs, name));
  const sandboxes = entries(join(layout.data, 'containerd', 'io.containerd.grpc.v1.cri', 'sandboxes'));
  for (const name of entries(networkResults)) {
    const ours = name.startsWith(`${network.cniName}-`) || sandboxes.some((id) => name.includes(`-${id}-`));
    if (ours) removeFile(join(networkResults, name));
  }
  if (missingBefore.includes('/run/containerd')) removeDeadSockets(shimSockets);
  if (missingBefore.includes('/var/lib/kubelet')) rmSync('/var/lib/kubelet', { recursive: true, force: true });
  // Another container runtime may have come since: only what is empty goes, inner folders first.
  for (const folder of [networkResults, shimSockets, ...fixedFolders]) {
    if (missingBefore.some((missing) => folder === missing || folder.startsWith(`${missing}/`))) removeEmpty(folder);
  }
}

/** Sockets of containers' shims: containerd puts them at a fixed place, and notes the address with the container. */
function socketsOf(run: string): string[] {
  const tasks = join(run, 'containerd', 'io.containerd.runtime.v2.task', 'k8s.io');
  return entries(tasks).flatMap((name) => {
    try {
      const path = readFileSync(join(tasks, name, 'address'), 'utf8')
        .trim()
        .replace(/^unix:\/\//, '');
      return path.startsWith(`${shimSockets}/`) ? [path] : [];
    } catch {
      return [];
    }
  });
}

/** Sockets that no process holds: of shims that ended without their container being noted any more. */
function removeDeadSockets(folder: string): void {
  const held = new Set(readFileSync('/proc/net/unix', 'utf8').split(/\s+/));
  for (const name of entries(folder)) if (!held.has(join(folder, name))) removeFile(join(folder, name));
}

function pointsInto(link: string, folder: string): boolean {
  try {
    return readlinkSync(link).startsWith(`${folder}/`);
  } catch {
    return false;
  }
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Its owner was faster.
  }
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It is missing, or holds something of another's.
  }
}
