import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { identify } from '../../process-record.ts';
import { killContainer, signal } from './process-table.ts';

/** Output that comes after the end, from processes that left the group, is waited for this long. */
const outputMs = 500;

/** How a program is started. */
export interface Program {
  command: readonly string[];
  cwd: string;
  env: Record<string, string>;
}

/** A container's program cannot be started: no such file, not executable, no such folder. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** A container's processes: one leader and what descends from it. They outlive this process if it is killed. */
export interface ProcessGroup {
  readonly leader: number;
  /** Resolves to the leader's exit code, 128 and the signal's number for a signal, once none of the others is left. */
  readonly exited: Promise<number>;
  /** Asks the leader to end, as Kubernetes does; the others are its own affair. */
  terminate(): void;
  /** Kills all of them. */
  kill(): void;
}

/**
 * Starts a program as the leader of a process group and records it in `recordFile` until it has ended.
 * @param container as in `SVC_CONTAINER` of its environment
 * @throws StartError
 */
export async function startProcessGroup(
  program: Program,
  options: { container: string; recordFile: string; onOutput: (stream: 'stdout' | 'stderr', chunk: Buffer) => void },
): Promise<ProcessGroup> {
  const { container, recordFile, onOutput } = options;
  const child = await started(program, ['ignore', 'pipe', 'pipe']);
  const leader = child.pid ?? 0;
  record(recordFile, container, leader);
  child.stdout?.on('data', (chunk: Buffer) => onOutput('stdout', chunk));
  child.stderr?.on('data', (chunk: Buffer) => onOutput('stderr', chunk));

  const exit = async (): Promise<number> => {
    const closed = once(child, 'close');
    const [code, name] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    // The end of a container's first process is the end of them all.
    killContainer(leader, container);
    const timer = setTimeout(() => {
      child.stdout?.destroy();
      child.stderr?.destroy();
    }, outputMs);
    await closed;
    clearTimeout(timer);
    rmSync(recordFile, { force: true });
    return code ?? 128 + numberOf(name);
  };
  return {
    leader,
    exited: exit(),
    terminate: () => signal(leader, 'SIGTERM'),
    kill: () => killContainer(leader, container),
  };
}

/** What goes into a program and comes out of it; what is not given is empty, and goes nowhere. */
export interface Streams {
  stdin?: Readable;
  stdout?: Writable;
  stderr?: Writable;
}

/**
 * Runs a program beside a container's own to its end, and its output's. The signal kills it with all of its group.
 * @returns its exit code
 * @throws StartError
 */
export async function execute(program: Program, stop: AbortSignal, streams: Streams = {}): Promise<number> {
  const { stdin, stdout, stderr } = streams;
  const child = await started(program, [
    stdin ? 'pipe' : 'ignore',
    stdout ? 'pipe' : 'ignore',
    stderr ? 'pipe' : 'ignore',
  ]);
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  const kill = () => signal(-(child.pid ?? 0), 'SIGKILL');
  if (stop.aborted) kill();
  stop.addEventListener('abort', kill, { once: true });
  // Whoever is told no longer, or says nothing any more, keeps the program from nothing.
  const flow = async (from: Readable | null | undefined, to: Writable | null | undefined) => {
    if (from && to) await pipeline(from, to).catch(() => undefined);
  };
  void flow(stdin, child.stdin);
  const written = Promise.all([flow(child.stdout, stdout), flow(child.stderr, stderr)]);
  const [code, name] = await closed;
  stop.removeEventListener('abort', kill);
  await written;
  return code ?? 128 + numberOf(name);
}

/** Starts a program as the leader of a process group. */
async function started({ command, cwd, env }: Program, stdio: ('ignore' | 'pipe')[]): Promise<ChildProcess> {
  const [file, ...parameters] = command;
  if (file === undefined) throw new StartError('no command is given, neither by the pod nor by the image');
  const child = spawn(file, parameters, { cwd, env, stdio, detached: true });
  const failure = await new Promise<Error | undefined>((resolve) => {
    child.once('error', resolve);
    child.once('spawn', () => resolve(undefined));
  });
  if (failure) throw new StartError(`"${file}" cannot be started: ${failure.message}`);
  return child;
}

/** Others may read it at any moment, so it appears as a whole. */
function record(file: string, container: string, pid: number): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.part`, JSON.stringify(identify(container, pid) ?? null));
  renameSync(`${file}.part`, file);
}

function numberOf(name: NodeJS.Signals | null): number {
  return name === null ? 0 : constants.signals[name];
}
