import { readFileSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { identify } from '../process-record.ts';
import { stopAll } from './processes.ts';

const root = '/sys/fs/cgroup';
const podsGroup = 'kubepods';

/** Control groups of pods: one folder with cgroup v2, one for each controller with v1. */
export function podGroups(): string[] {
  return [root, ...subfolders(root)].map((folder) => join(folder, podsGroup)).filter((folder) => isGroup(folder));
}

/** Processes in the pods' control groups. */
export function podProcesses(): number[] {
  return [...new Set(podGroups().flatMap((group) => processesIn(group)))];
}

/** Kills every process in the pods' control groups, also those whose container runtime is gone. */
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

/** Removes the pods' control groups once they are empty, waiting up to 5 s for the kernel to let go of them. */
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
    // A process in it has not quite ended; the caller tries again.
  }
}

function processesIn(group: string): number[] {
  let own: number[] = [];
  try {
    own = readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
  } catch {
    // It was removed meanwhile.
  }
  return [...own, ...subfolders(group).flatMap((child) => processesIn(child))];
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
