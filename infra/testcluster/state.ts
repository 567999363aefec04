import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { KernelSettings } from './kernel-settings.ts';
import type { IngressPorts, Layout } from './settings.ts';
import { defaultIngressPorts } from './settings.ts';

/** The data that removing the cluster needs. It is written before the machine is changed. */
export interface ClusterState {
  readonly ingress: IngressPorts;
  /** How many nodes it has. A second one is recorded before it is added. */
  readonly nodes: 1 | 2;
  /** The kernel settings before the start. */
  readonly kernelSettings: KernelSettings;
  /** Folders at fixed paths that did not exist before the start. */
  readonly missingFolders: readonly string[];
}

/** Reads the state; undefined when no cluster was started, or its start ended before it changed anything. */
export function readState(layout: Layout): ClusterState | undefined {
  try {
    return JSON.parse(readFileSync(layout.state, 'utf8')) as ClusterState;
  } catch {
    return undefined;
  }
}

/** Writes the state. Creates its folder, readable by its owner only. */
export function writeState(layout: Layout, state: ClusterState): void {
  mkdirSync(layout.run, { recursive: true, mode: 0o700 });
  // A partly written file would be ignored, and the changes to the machine would stay.
  writeFileSync(`${layout.state}.part`, JSON.stringify(state, null, 2));
  renameSync(`${layout.state}.part`, layout.state);
}

/** The Traefik ports of the running cluster; the default ones when none runs. */
export function ingressPortsOf(layout: Layout): IngressPorts {
  return readState(layout)?.ingress ?? defaultIngressPorts;
}
