import { join } from 'node:path';
import type { LogRecord } from '../record.ts';
import { fs } from './builtins.ts';
import type { ContainerState } from './container-log.ts';
import { writeFileAtomically } from './spool.ts';

/** What is known about one pod's folder. */
export interface PodState {
  workload: LogRecord['workload'];
  containers: Record<string, ContainerState>;
}

/** The state of the shipper on disk. Positions and batches are stored together, so that a restart loses and doubles nothing. */
export interface ShipperState {
  version: 1;
  /** The number of the last batch that contains lines before the positions. */
  batch: number;
  /** Lines that were dropped since the installation, by namespace and reason. */
  dropped: Record<string, Record<string, number>>;
  /** Pods by the name of their folder. */
  pods: Record<string, PodState>;
}

const fileName = 'state.json';

/** @returns undefined when there is no state, or it cannot be read: then all logs are read from their beginning */
export function readState(folder: string): ShipperState | undefined {
  const path = join(folder, fileName);
  if (!fs.existsSync(path)) return undefined;
  try {
    const state = JSON.parse(fs.readFileSync(path, 'utf8')) as ShipperState;
    return state.version === 1 ? state : undefined;
  } catch {
    return undefined;
  }
}

export function writeState(folder: string, state: ShipperState): void {
  writeFileAtomically(join(folder, fileName), JSON.stringify(state));
}
