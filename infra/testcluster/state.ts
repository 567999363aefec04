import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { KernelSettings } from './kernel-settings.ts';
import type { IngressPorts, Layout } from './settings.ts';
import { defaultIngressPorts } from './settings.ts';

/** What must be known to take the cluster down again, written before anything on the machine is changed. */
export interface ClusterState {
  readonly ingress: IngressPorts;
  /** Kernel settings as they were before. */
  readonly kernelSettings: KernelSettings;
  /** Folders at fixed places that did not exist before. */
  readonly missingFolders: readonly string[];
}

/** Reads the state, or undefined when no cluster was started (or its start ended before anything was changed). */
export function readState(layout: Layout): ClusterState | undefined {
  try {
    return JSON.parse(readFileSync(layout.state, 'utf8')) as ClusterState;
  } catch {
    return undefined;
  }
}

/** Writes the state; the folder is made, readable by its owner only. */
export function writeState(layout: Layout, state: ClusterState): void {
  mkdirSync(layout.run, { recursive: true, mode: 0o700 });
  // Half a file would be taken for none, and what was changed since would stay changed.
  writeFileSync(`${layout.state}.part`, JSON.stringify(state, null, 2));
  renameSync(`${layout.state}.part`, layout.state);
}

/** Ports at which the running cluster's Traefik serves; the usual ones when none runs. */
export function ingressPortsOf(layout: Layout): IngressPorts {
  return readState(layout)?.ingress ?? defaultIngressPorts;
}
