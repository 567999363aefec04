import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { getSystemErrorMessage } from 'node:util';
import { identify } from '../../process-record.ts';
import { setSessionNiceness } from './niceness.ts';
import { killContainer, signal } from './process-table.ts';

/** How long to wait, after the end, for output of processes that left the group. */
const outputMs = 500;

/** How to start a program. */
export interface Program {
  command: readonly string[];
  cwd: string;
  env: Record<string, string>;
  /** The user and the group that it runs as, without further groups. Default this process's own. */
  user?: number | undefined;
  /** How far it stands back for others, 0 to 19. Default 0. */
  niceness?: number;
}

/** A container's program cannot be started: the file or folder does not exist, or the file is not executable. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** A container's processes: a leader and its descendants. They outlive this process if it is killed. */
export interface ProcessGroup {
  readonly leader: number;
  /** The leader's exit code, or 128 plus the signal's number. Resolves when no process is left. */
  readonly exited: Promise<number>;
  /** Sends SIGTERM to the leader only, as Kubernetes does. */
  terminate(): void;
  /** Kills all processes. */
  kill(): void;
}

/**
 * Starts a program as the leader of a process group. `recordFile` identifies it until it has ended.
 * @param container as in `SVC_CONTAINER` of its environment
 * @throws StartError
 */
export async function startProcessGroup(
  program: Program,
  options: { container: string; recordFile: string; onOutput: (stream: 'stdout' | 'stderr', chunk: Buffer) => void },
): Promise<ProcessGroup> {
  const { container, recordFile, onOutput } = options;
  const child = await spawnLeader(program, ['ignore', 'pipe', 'pipe']);
  const leader = child.pid ?? 0;
  record(recordFile, container, leader);
  child.stdout?.on('data', (chunk: Buffer) => onOutput('stdout', chunk));
  child.stderr?.on('data', (chunk: Buffer) => onOutput('stderr', chunk));

  const exit = async (): Promise<number> => {
    const closed = once(child, 'close');
    const [code, name] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    // When a container's first process ends, all others are killed, as in a container.
    killContainer(leader, container);
    const timer = setTimeout(() => {
      child.stdout?.destroy();
      child.stderr?.destroy();
    }, outputMs);
    await closed;
    clearTimeout(timer);
    rmSync(recordFile, { force: true });
    return code ?? 128 + signalNumber(name);
  };
  return {
    leader,
    exited: exit(),
    terminate: () => signal(leader, 'SIGTERM'),
    kill: () => killContainer(leader, container),
  };
}

/** A program's input and output. Omitted input is empty; omitted output is discarded. */
export interface Streams {
  stdin?: Readable;
  stdout?: Writable;
  stderr?: Writable;
}

/**
 * Runs an additional program in a container until it ends and its output is written. The signal kills its process
 * group.
 * @returns its exit code
 * @throws StartError
 */
export async function execute(program: Program, stop: AbortSignal, streams: Streams = {}): Promise<number> {
  const { stdin, stdout, stderr } = streams;
  const child = await spawnLeader(program, [
    stdin ? 'pipe' : 'ignore',
    stdout ? 'pipe' : 'ignore',
    stderr ? 'pipe' : 'ignore',
  ]);
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  const kill = () => signal(-(child.pid ?? 0), 'SIGKILL');
  if (stop.aborted) kill();
  stop.addEventListener('abort', kill, { once: true });
  // A reader or writer that leaves must not stop the program.
  const copy = async (from: Readable | null | undefined, to: Writable | null | undefined) => {
    if (from && to) await pipeline(from, to).catch(() => undefined);
  };
  void copy(stdin, child.stdin);
  const outputWritten = Promise.all([copy(child.stdout, stdout), copy(child.stderr, stderr)]);
  const [code, name] = await closed;
  stop.removeEventListener('abort', kill);
  await outputWritten;
  return code ?? 128 + signalNumber(name);
}

async function spawnLeader(program: Program, stdio: ('ignore' | 'pipe')[]): Promise<ChildProcess> {
  const { command, cwd, env, user, niceness = 0 } = program;
  const [file, ...parameters] = command;
  if (file === undefined) throw new StartError('Neither the pod nor the image has a command.');
  const identity = user === undefined ? {} : { uid: user, gid: user };
  // Not by a program such as setpriv: it would start as root with the pod's environment, in which LD_PRELOAD may be set.
  const options = { cwd, env, stdio, detached: true, ...identity };
  const child =
    niceness === 0
      ? spawn(file, parameters, options)
      : // A niceness given from outside would miss the threads and processes that have started meanwhile.
        spawn('nice', ['-n', String(niceness), '--', file, ...parameters], options);
  if (child.pid !== undefined && niceness > 0) setSessionNiceness(child.pid, niceness);
  const failure = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    child.once('error', resolve);
    child.once('spawn', () => resolve(undefined));
  });
  if (!failure) return child;
  const reason = failure.errno === undefined ? failure.message : getSystemErrorMessage(failure.errno);
  throw new StartError(`Cannot start "${file}": ${reason}`);
}

/** Written to another file and renamed, since it may be read at any time. */
function record(file: string, container: string, pid: number): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.part`, JSON.stringify(identify(container, pid) ?? null));
  renameSync(`${file}.part`, file);
}

function signalNumber(name: NodeJS.Signals | null): number {
  return name === null ? 0 : constants.signals[name];
}
