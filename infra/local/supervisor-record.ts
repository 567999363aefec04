import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { identify, isAlive, type ProcessRecord } from '../process-record.ts';
import type { Home } from './home.ts';

/** The record that the process of the embedded cluster writes about itself. */
export interface Supervisor extends ProcessRecord {
  state: 'starting' | 'ready' | 'stopping';
}

/** Records this process as the one of the embedded cluster. */
export function recordSupervisor(home: Home, state: Supervisor['state']): void {
  const part = `${home.process}.part`;
  writeFileSync(part, JSON.stringify({ ...identify('svc-local', process.pid), state }));
  renameSync(part, home.process);
}

/** The process of the embedded cluster; undefined when it does not run. */
export function findSupervisor(home: Home): Supervisor | undefined {
  try {
    const record = JSON.parse(readFileSync(home.process, 'utf8')) as Supervisor;
    return isAlive(record) ? record : undefined;
  } catch {
    return undefined;
  }
}
