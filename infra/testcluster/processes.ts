import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { identify, isAlive, type ProcessRecord } from '../process-record.ts';
import { ClusterProblem } from './problem.ts';

/** A program to start. */
export interface Program {
  readonly name: string;
  readonly path: string;
  readonly parameters: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly logFile: string;
}

/**
 * Starts a program in its own session, so that it outlives the caller, and records it in `<folder>/<name>.json`.
 * @throws ClusterProblem when it cannot be started
 */
export async function startDetached(program: Program, folder: string): Promise<ProcessRecord> {
  mkdirSync(dirname(program.logFile), { recursive: true });
  const log = openSync(program.logFile, 'a');
  try {
    const child = spawn(program.path, program.parameters, {
      detached: true,
      cwd: '/',
      env: program.environment,
      stdio: ['ignore', log, log],
    });
    const result = await new Promise<number | Error>((resolve) => {
      child.once('error', resolve);
      child.once('spawn', () => resolve(child.pid ?? new Error('no process id')));
    });
    const record = typeof result === 'number' ? identify(program.name, result) : undefined;
    if (record === undefined) {
      const reason = result instanceof Error ? result.message : `see ${program.logFile}`;
      throw new ClusterProblem(`Cannot start ${program.name}: ${reason}`);
    }
    child.unref();
    mkdirSync(folder, { recursive: true });
    const file = join(folder, `${program.name}.json`);
    // Renamed into place, since `status` reads it without a lock.
    writeFileSync(`${file}.part`, JSON.stringify(record));
    renameSync(`${file}.part`, file);
    return record;
  } finally {
    closeSync(log);
  }
}

/** All records in a folder; none when the folder does not exist. Unreadable files are skipped. */
export function readRecords(folder: string): ProcessRecord[] {
  let names: string[];
  try {
    names = readdirSync(folder).filter((name) => name.endsWith('.json'));
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    try {
      return [JSON.parse(readFileSync(join(folder, name), 'utf8')) as ProcessRecord];
    } catch {
      return [];
    }
  });
}

/**
 * Finds running processes by the names of their programs and a parameter below `folder`: those that were started but
 * not recorded, and those that components started.
 */
export function findProcesses(programs: ReadonlySet<string>, folder: string): ProcessRecord[] {
  return readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      const [program = '', ...parameters] = readFileSync(`/proc/${entry}/cmdline`, 'utf8').split('\0');
      const name = basename(program);
      if (!programs.has(name) || !parameters.some((parameter) => parameter.includes(`${folder}/`))) return [];
      return identify(name, Number(entry)) ?? [];
    } catch {
      return [];
    }
  });
}

function signal(record: ProcessRecord, name: NodeJS.Signals): void {
  try {
    if (isAlive(record)) process.kill(record.pid, name);
  } catch {
    // It ended after the check.
  }
}

/**
 * Stops processes: sends SIGTERM, waits, then SIGKILL. A process that reuses a recorded id is not touched.
 * @param graceMilliseconds time to stop after SIGTERM; 0 kills immediately
 * @throws ClusterProblem when a process still runs 10 s after SIGKILL
 */
export async function stopAll(records: readonly ProcessRecord[], graceMilliseconds: number): Promise<void> {
  for (const record of records) signal(record, graceMilliseconds > 0 ? 'SIGTERM' : 'SIGKILL');
  await waitForExit(records, graceMilliseconds);
  for (const record of records) signal(record, 'SIGKILL');
  await waitForExit(records, 10_000);
  const survivors = records.filter(isAlive);
  if (survivors.length > 0) {
    throw new ClusterProblem(`Cannot kill: ${survivors.map((record) => `${record.name} (${record.pid})`).join(', ')}`);
  }
}

async function waitForExit(records: readonly ProcessRecord[], milliseconds: number): Promise<void> {
  const deadline = performance.now() + milliseconds;
  while (records.some(isAlive) && performance.now() < deadline) await delay(20);
}
