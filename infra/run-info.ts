import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where a running platform listens and its first credentials: the content of `run.json`. */
export interface RunInfo {
  /** What the platform runs on: the embedded default or the test cluster. */
  target: 'local' | 'cluster';
  /** The management API's base address. */
  api: string;
  /** The ingress as this machine reaches it; the public host goes into the Host header or resolves to loopback. */
  ingress: string;
  appsDomain: string;
  kubeconfig: string;
  adminEmail: string;
  /** A file with the admin's password, readable by its owner only. */
  adminPasswordFile: string;
}

const name = 'run.json';

/** What was written last in this folder. @throws Error when nothing was brought up */
export function readRunInfo(folder: string): RunInfo {
  return JSON.parse(readFileSync(join(folder, name), 'utf8')) as RunInfo;
}

/** Whole or not at all: others may be reading it. */
export function writeRunInfo(folder: string, info: RunInfo): void {
  const file = join(folder, name);
  writeFileSync(`${file}.part`, `${JSON.stringify(info, null, 2)}\n`);
  renameSync(`${file}.part`, file);
}
