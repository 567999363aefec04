import { existsSync, rmSync } from 'node:fs';
import { killPods, removePodGroups } from './cgroups.ts';
import { programNames } from './components.ts';
import { existingChains, removeRules } from './firewall.ts';
import { writeKernelSettings } from './kernel-settings.ts';
import { removeLeftovers } from './leftovers.ts';
import { unmountAll } from './mounts.ts';
import { removeLinks } from './network.ts';
import { isFree } from './ports.ts';
import { isAlive, type ProcessRecord } from '../process-record.ts';
import { findProcesses, readRecords, stopAll } from './processes.ts';
import type { Progress } from './progress.ts';
import { readState } from './state.ts';
import type { Layout } from './settings.ts';
import { ports } from './settings.ts';

const graceMilliseconds = 1000;

/** Ended last: the others fail noisily, or wait, once what they store in or run containers with is gone. */
const storage = new Set(['containerd', 'etcd', 'docker-registry', 'registry', 'containerd-shim-runc-v2', 'runc']);

/**
 * Takes the cluster down, whatever is left of it, and removes everything that it added to the machine but the built
 * binaries. Safe to repeat.
 * @returns whether there was anything to take down
 * @throws ClusterProblem when something cannot be killed or unmounted
 */
export async function tearDown(layout: Layout, progress: Progress): Promise<boolean> {
  const state = readState(layout);
  const running = ownProcesses(layout);
  // Without the state file they may be another cluster's, unless processes of this one still ran.
  const sharedNamesAreOurs = state !== undefined || running.length > 0 || (await hasStrayNetwork());
  if (!sharedNamesAreOurs && !existsSync(layout.run)) return false;
  await progress.stage('stop processes', async () => {
    // The kubelet and the controllers first: they would start again what is ended below.
    await stopAll(
      running.filter((record) => !storage.has(record.name)),
      graceMilliseconds,
    );
    if (sharedNamesAreOurs) await killPods();
    await stopAll(
      ownProcesses(layout).filter((record) => record.name.startsWith('containerd-shim')),
      0,
    );
    await stopAll(ownProcesses(layout), graceMilliseconds);
  });
  await progress.stage('clean the machine', async () => {
    await unmountAll(layout.run);
    if (sharedNamesAreOurs) {
      await removePodGroups();
      await removeRules();
      await removeLinks();
    }
    if (state !== undefined) {
      writeKernelSettings(state.kernelSettings);
      removeLeftovers(layout, state.missingFolders);
    }
    rmSync(layout.run, { recursive: true, force: true });
  });
  return true;
}

function ownProcesses(layout: Layout): ProcessRecord[] {
  const recorded = readRecords(layout.processes).filter(isAlive);
  const pids = new Set(recorded.map((record) => record.pid));
  return [...recorded, ...findProcesses(programNames, layout.run).filter((record) => !pids.has(record.pid))];
}

/** Whether a cluster whose state folder was deleted left its network behind. One that runs keeps it. */
async function hasStrayNetwork(): Promise<boolean> {
  return (await existingChains()).own && (await isFree(ports.apiServer));
}
