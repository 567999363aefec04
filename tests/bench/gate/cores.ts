import { spawn, spawnSync, type ChildProcess, type StdioOptions } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { printFigure } from '../figure.ts';

/** The server under load has the first core to itself; everything else is on the second. */
export const serverCore = 0;
const otherCore = 1;

/** Moves this process, and every process that it starts later, to the second core. @throws Error without two cores */
export function leaveServerCore(): void {
  if (availableParallelism() < 2) throw new Error('this bench needs two cores: one for the server, one for the load');
  const { status, stderr } = spawnSync('taskset', ['-a', '-c', '-p', String(otherCore), String(process.pid)], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`taskset failed: ${stderr}`);
}

/**
 * Lets a process run on its core before all others, or no longer, because a process that measures latency must not wait
 * itself. Needs a privilege and does nothing without it. Only for a process that often rests, since no other gets the
 * core before then.
 */
export function setForemost(pid: number, foremost: boolean): void {
  const [policy, priority] = foremost ? ['--fifo', '1'] : ['--other', '0'];
  const { status, stderr } = spawnSync('chrt', [policy, '--all-tasks', '--pid', priority, String(pid)], {
    encoding: 'utf8',
  });
  if (status !== 0) process.stderr.write(`the load waits for its core like everybody: ${stderr}`);
}

/**
 * Lets all other processes run before a process and its children. Each process of PostgreSQL has a session of its own,
 * and Linux first shares a core among sessions, whatever the priorities of their processes are (autogroup in sched(7)).
 */
export function setLast(pid: number): void {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  for (const each of [String(pid), ...children]) {
    try {
      writeFileSync(`/proc/${each}/autogroup`, '19');
    } catch (error) {
      // A child may have ended; without autogroups, the priority of the process counts.
      if ((error as NodeJS.ErrnoException).code === 'EACCES') throw error;
    }
    spawnSync('renice', ['-n', '19', '-p', each]);
  }
}

/**
 * Runs a TypeScript program of this bench or of the platform on one core; without `core`, on that of this process.
 * @param how.options of Node.js
 */
export function startProgram(
  file: string,
  how: { core?: number; options?: readonly string[]; env?: NodeJS.ProcessEnv; stdio: StdioOptions },
): ChildProcess {
  const { core, options = [], env, stdio } = how;
  const command = [process.execPath, ...options, file];
  const pinned = core === undefined ? command : ['taskset', '-c', String(core), ...command];
  const [program = '', ...args] = pinned;
  return spawn(program, args, { stdio, env: { PATH: process.env['PATH'], ...env } });
}

/** Resident memory of a process in bytes: now, and its maximum. */
export function residentMemory(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const bytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024;
  return { now: bytes('VmRSS'), peak: bytes('VmHWM') };
}

/** User and system time of a process so far, in seconds, in steps of a hundredth. */
export function processorSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field, the program's name, may hold spaces and parentheses; utime and stime are the 14th and 15th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** The share of the machine that other processes use, measured over a second while this bench is idle. */
export async function othersShare(): Promise<number> {
  const total = () => {
    const times = cpus().map((cpu) => cpu.times);
    const sum = (pick: (time: (typeof times)[number]) => number) => times.reduce((all, time) => all + pick(time), 0);
    return {
      idle: sum(({ idle }) => idle),
      all: sum(({ user, nice, sys, idle, irq }) => user + nice + sys + idle + irq),
    };
  };
  const before = total();
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const after = total();
  return 1 - (after.idle - before.idle) / (after.all - before.all);
}

/** Above this share of the machine, the others decide the figures. */
const othersMax = 0.1;
/** The exit code of a bench that measured nothing because the machine was busy. */
export const busyMachineCode = 3;

/**
 * Prints the share of the machine that other processes use, and refuses to measure beside too many of them: then it says so
 * and sets the exit code. @param name of the bench @param anyway measures beside others, too
 * @returns whether the bench may measure
 */
export async function isMachineFree(name: string, anyway = false): Promise<boolean> {
  const share = await othersShare();
  printFigure({ name: `${name}.machine-used-by-others`, value: share, unit: 'ratio' });
  if (anyway || share <= othersMax) return true;
  const [used, most] = [share, othersMax].map((part) => `${(part * 100).toFixed(0)} %`);
  process.stderr.write(
    `${name}: not measured, because other processes use ${used} of the machine; at most ${most} may.\n`,
  );
  process.exitCode = busyMachineCode;
  return false;
}
