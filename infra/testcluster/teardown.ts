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

/** Stopped last, since the other components depend on them. */
const storage = new Set([
  'containerd',
  'containerd-2',
  'etcd',
  'docker-registry',
  'registry',
  'containerd-shim-runc-v2',
  'runc',
]);

/**
 * Stops the cluster, in whatever state it is, and removes everything that it added to the machine except the built
 * binaries. Safe to repeat.
 * @returns whether there was anything to remove
 * @throws ClusterProblem when something cannot be killed or unmounted
 */
export async function tearDown(layout: Layout, progress: Progress): Promise<boolean> {
  const state = readState(layout);
  const running = ownProcesses(layout);
  // Without the state file they may belong to another cluster, unless processes of this one still ran.
  const ownsSharedNames = state !== undefined || running.length > 0 || (await hasStrayNetwork());
  if (!ownsSharedNames && !existsSync(layout.run)) return false;
  await progress.stage('stop processes', async () => {
    // The kubelet and the controllers first, because they would restart the other processes.
    await stopAll(
      running.filter((record) => !storage.has(record.name)),
      graceMilliseconds,
    );
    if (ownsSharedNames) await killPods();
    await stopAll(
      ownProcesses(layout).filter((record) => record.name.startsWith('containerd-shim')),
      0,
    );
    await stopAll(ownProcesses(layout), graceMilliseconds);
  });
  await progress.stage('clean the machine', async () => {
    await unmountAll(layout.run);
    if (ownsSharedNames) {
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
  const records = readRecords(layout.processes).filter(isAlive);
  const pids = new Set(records.map((record) => record.pid));
  return [...records, ...findProcesses(programNames, layout.run).filter((record) => !pids.has(record.pid))];
}

/** Whether a cluster without its state folder left its network behind. A running cluster keeps it. */
async function hasStrayNetwork(): Promise<boolean> {
  return (await existingChains()).own && (await isFree(ports.apiServer));
}
