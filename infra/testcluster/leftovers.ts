import { existsSync, readFileSync, readdirSync, readlinkSync, rmSync, rmdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Layout } from './settings.ts';
import { network } from './settings.ts';

const podLogs = '/var/log/pods';
const shipperState = '/var/lib/svc-log-shipper';

/** Folders at fixed paths outside the cluster's own folder that components or their programs create. */
export const fixedFolders = [
  '/var/lib/kubelet',
  '/var/log/containers',
  podLogs,
  shipperState,
  '/var/lib/cni',
  '/run/containerd',
  '/run/kubernetes',
  '/run/mount',
];
const shimSockets = '/run/containerd/s';
const networkResults = '/var/lib/cni/results';

/** The fixed folders that do not exist now, so that they can be removed with the cluster. */
export function missingFolders(): string[] {
  return fixedFolders.filter((folder) => !existsSync(folder));
}

/**
 * Removes what components left outside the cluster's folder.
 * @param layout folders of the cluster after its containers were deleted, but before its files are
 * @param missingBefore the result of {@link missingFolders} before the start
 */
export function removeLeftovers(layout: Layout, missingBefore: readonly string[]): void {
  for (const socket of socketsOf(layout.run)) removeFile(socket);
  const logs = '/var/log/containers';
  const folders = [layout.run, ...missingBefore.filter((folder) => folder === podLogs)];
  for (const name of entries(logs)) {
    if (folders.some((folder) => isLinkInto(join(logs, name), folder))) removeFile(join(logs, name));
  }
  const sandboxes = entries(join(layout.data, 'containerd', 'io.containerd.grpc.v1.cri', 'sandboxes'));
  for (const name of entries(networkResults)) {
    const isOwnResult = name.startsWith(`${network.cniName}-`) || sandboxes.some((id) => name.includes(`-${id}-`));
    if (isOwnResult) removeFile(join(networkResults, name));
  }
  if (missingBefore.includes('/run/containerd')) removeDeadSockets(shimSockets);
  for (const folder of ['/var/lib/kubelet', podLogs, shipperState]) {
    if (missingBefore.includes(folder)) rmSync(folder, { recursive: true, force: true });
  }
  // Only empty folders are removed, inner ones first: another container runtime may use them by now.
  for (const folder of [networkResults, shimSockets, ...fixedFolders]) {
    if (missingBefore.some((missing) => folder === missing || folder.startsWith(`${missing}/`))) removeEmpty(folder);
  }
}

/**
 * Sockets of container shims. containerd creates them at a fixed place and records their address with the container.
 */
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

/** Sockets without a process, of shims whose container is no longer recorded. */
function removeDeadSockets(folder: string): void {
  const held = new Set(readFileSync('/proc/net/unix', 'utf8').split(/\s+/));
  for (const name of entries(folder)) if (!held.has(join(folder, name))) removeFile(join(folder, name));
}

function isLinkInto(link: string, folder: string): boolean {
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
    // Another process removed it first.
  }
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // The folder does not exist, or is not empty.
  }
}
