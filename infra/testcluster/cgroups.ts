import { readFileSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { identify } from '../process-record.ts';
import { stopAll } from './processes.ts';

const root = '/sys/fs/cgroup';
const podsGroup = 'kubepods';

/** Control groups of pods: one folder with cgroup v2, one for each controller with v1. */
function podGroups(): string[] {
  return [root, ...subfolders(root)].map((folder) => join(folder, podsGroup)).filter((folder) => isGroup(folder));
}

/** Processes in the pods' control groups. */
export function podProcesses(): number[] {
  return [...new Set(podGroups().flatMap((group) => processesIn(group)))];
}

/** Kills every process in the pods' control groups, also without a container runtime. */
export async function killPods(): Promise<void> {
  // A process that forks while the list is read is found in the next round.
  for (let round = 0; round < 5; round += 1) {
    const pids = podProcesses();
    if (pids.length === 0) return;
    await stopAll(
      pids.flatMap((pid) => identify('pod', pid) ?? []),
      0,
    );
  }
}

/** Removes the pods' control groups. Waits up to 5 s until they are empty. */
export async function removePodGroups(): Promise<void> {
  const deadline = performance.now() + 5000;
  for (let groups = podGroups(); groups.length > 0 && performance.now() < deadline; groups = podGroups()) {
    for (const group of groups) removeGroup(group);
    if (podGroups().length > 0) await delay(50);
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
