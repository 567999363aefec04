import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The addresses and the admin credentials of a running platform: the content of `run.json`. */
export interface RunInfo {
  /** Where the platform runs: in the embedded cluster or in the test cluster. */
  target: 'local' | 'cluster';
  /** The management API's base URL. */
  api: string;
  /** The ingress's address on this machine. Public hosts go into the header `Host`, or resolve to loopback. */
  ingress: string;
  appsDomain: string;
  kubeconfig: string;
  adminEmail: string;
  /** A file with the admin's password, readable by its owner only. */
  adminPasswordFile: string;
}

const name = 'run.json';

/** Reads the folder's `run.json`. @throws Error when there is none */
export function readRunInfo(folder: string): RunInfo {
  return JSON.parse(readFileSync(join(folder, name), 'utf8')) as RunInfo;
}

/** Replaces the file atomically, since other processes may be reading it. */
export function writeRunInfo(folder: string, info: RunInfo): void {
  const file = join(folder, name);
  writeFileSync(`${file}.part`, `${JSON.stringify(info, null, 2)}\n`);
  renameSync(`${file}.part`, file);
}
