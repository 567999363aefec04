import { existsSync, mkdirSync, readFileSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { identify } from '../process-record.ts';
import { stopAll } from './processes.ts';

const root = '/sys/fs/cgroup';
const podsGroup = 'kubepods';

/**
 * Control groups of pods: one folder with cgroup v2, one for each controller with v1.
 * @param name of a group in each; default: the groups themselves
 */
function podGroups(name = ''): string[] {
  return [root, ...subfolders(root)].map((folder) => join(folder, podsGroup, name)).filter((folder) => isGroup(folder));
}

/**
 * Adds a group for the pods of a second node, which the kubelet requires to exist. It is in the first node's groups, so that
 * whatever removes those removes it.
 * @returns its path from the root, for the kubelet
 */
export function addPodGroup(name: string): string {
  for (const parent of podGroups()) {
    const group = join(parent, name);
    mkdirSync(group, { recursive: true });
    // With cgroup v1, a new group has no processors and no memory until it is given those of its parent.
    for (const file of ['cpuset.cpus', 'cpuset.mems'].filter((each) => existsSync(join(parent, each))))
      writeFileSync(join(group, file), readFileSync(join(parent, file)));
  }
  return `/${podsGroup}/${name}`;
}

/** Processes in the pods' control groups, or in one that was added for a second node. */
export function podProcesses(name?: string): number[] {
  return [...new Set(podGroups(name).flatMap((group) => processesIn(group)))];
}

/** Kills every process in the pods' control groups, or in one that was added, also without a container runtime. */
export async function killPods(name?: string): Promise<void> {
  // A process that forks while the list is read is found in the next round.
  for (let round = 0; round < 5; round += 1) {
    const pids = podProcesses(name);
    if (pids.length === 0) return;
    await stopAll(
      pids.flatMap((pid) => identify('pod', pid) ?? []),
      0,
    );
  }
}

/** Removes the pods' control groups, or one that was added. Waits up to 5 s until they are empty. */
export async function removePodGroups(name?: string): Promise<void> {
  const deadline = performance.now() + 5000;
  for (let groups = podGroups(name); groups.length > 0 && performance.now() < deadline; groups = podGroups(name)) {
    for (const group of groups) removeGroup(group);
    if (podGroups(name).length > 0) await delay(50);
  }
}

function removeGroup(group: string): void {
  for (const child of subfolders(group)) removeGroup(child);
  try {
    rmdirSync(group);
  } catch {
    // A process in it is still ending. The caller tries again.
  }
}

function processesIn(group: string): number[] {
  let pids: number[] = [];
  try {
    pids = readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
  } catch {
    // The group no longer exists.
  }
  return [...pids, ...subfolders(group).flatMap((child) => processesIn(child))];
}

function isGroup(folder: string): boolean {
  try {
    readdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

function subfolders(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(folder, entry.name));
  } catch {
    return [];
  }
}
