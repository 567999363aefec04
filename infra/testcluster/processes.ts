import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { identify, isAlive, type ProcessRecord } from '../process-record.ts';
import { ClusterProblem } from './problem.ts';

/** A program to start, apart from where it is recorded. */
export interface Program {
  readonly name: string;
  readonly path: string;
  readonly parameters: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly logFile: string;
}

/**
 * Starts a program in a session of its own, which outlives the caller, and records it in `<folder>/<name>.json`.
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
    const started = await new Promise<number | Error>((resolve) => {
      child.once('error', resolve);
      child.once('spawn', () => resolve(child.pid ?? new Error('it has no process id')));
    });
    const record = typeof started === 'number' ? identify(program.name, started) : undefined;
    if (record === undefined) {
      const reason = started instanceof Error ? started.message : `see ${program.logFile}`;
      throw new ClusterProblem(`${program.name} could not be started: ${reason}`);
    }
    child.unref();
    mkdirSync(folder, { recursive: true });
    const file = join(folder, `${program.name}.json`);
    // Others may be reading it: `status` takes no lock.
    writeFileSync(`${file}.part`, JSON.stringify(record));
    renameSync(`${file}.part`, file);
    return record;
  } finally {
    closeSync(log);
  }
}

/** Every record in a folder; none when the folder is missing. A file that cannot be read is passed over. */
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
 * Running processes whose program has one of these names and one of whose parameters lies under `folder`. It finds what
 * was started but never recorded, and what the components started themselves.
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
    // It ended between the look and the signal.
  }
}

/**
 * Ends processes: asks, waits, then kills. Only the very processes that were recorded are touched.
 * @param graceMilliseconds how long they may take to end by themselves; 0 kills at once
 * @throws ClusterProblem when one is left 10 s after it was killed
 */
export async function stopAll(records: readonly ProcessRecord[], graceMilliseconds: number): Promise<void> {
  for (const record of records) signal(record, graceMilliseconds > 0 ? 'SIGTERM' : 'SIGKILL');
  await untilGone(records, graceMilliseconds);
  for (const record of records) signal(record, 'SIGKILL');
  await untilGone(records, 10_000);
  const left = records.filter(isAlive);
  if (left.length > 0) {
    throw new ClusterProblem(`cannot be killed: ${left.map((record) => `${record.name} (${record.pid})`).join(', ')}`);
  }
}

async function untilGone(records: readonly ProcessRecord[], milliseconds: number): Promise<void> {
  const deadline = performance.now() + milliseconds;
  while (records.some(isAlive) && performance.now() < deadline) await delay(20);
}
