import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { identify, isAlive, type ProcessRecord } from '../process-record.ts';
import { stopAll } from '../testcluster/processes.ts';
import type { Home } from './home.ts';
import { choosePorts, type Ports } from './ports.ts';

/** How long everything may take to end: longer than `runtime/host/lifecycle.ts` allows. */
const stopMs = 30_000;

/** How often ports are chosen anew when others were faster. */
const portTries = 5;

/** Another program began to listen at one of the ports between the look at it and our own start. */
class PortTakenError extends Error {}

/** The process of the embedded default as it recorded itself. */
export interface Supervisor extends ProcessRecord {
  state: 'starting' | 'ready' | 'stopping';
}

/** Records this process as the one of the embedded default. */
export function recordSupervisor(home: Home, state: Supervisor['state']): void {
  const part = `${home.process}.part`;
  writeFileSync(part, JSON.stringify({ ...identify('svc-local', process.pid), state }));
  renameSync(part, home.process);
}

/** The process of the embedded default, if it runs. */
export function findSupervisor(home: Home): Supervisor | undefined {
  try {
    const record = JSON.parse(readFileSync(home.process, 'utf8')) as Supervisor;
    return isAlive(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

/** The process once it takes work; undefined when none runs, or when the one that ran has ended. */
export async function settledSupervisor(home: Home): Promise<Supervisor | undefined> {
  for (;;) {
    const found = findSupervisor(home);
    if (!found || found.state === 'ready') return found;
    await delay(50);
  }
}

/**
 * Chooses ports (see `choosePorts`) and starts the process of the embedded default there. Another platform that starts at
 * the same moment may choose the same: whoever comes second chooses again.
 * @throws Error as `choosePorts` and {@link startSupervisor}
 */
export async function startOnFreePorts(
  home: Home,
  { ingress, attached, log }: { ingress?: number | undefined; attached: boolean; log: (line: string) => void },
): Promise<Ports> {
  for (let attempt = 1; ; attempt++) {
    const ports = await choosePorts(home.ports, ingress === undefined ? {} : { ingress }, log);
    try {
      await startSupervisor(home, ports, { attached });
      return ports;
    } catch (error) {
      if (!(error instanceof PortTakenError) || attempt === portTries) throw error;
      log('another program took one of the ports meanwhile: choosing again');
    }
  }
}

/**
 * Starts the process of the embedded default in a session of its own; resolves when all of it runs.
 * @param options.attached whether it ends with the caller, however the caller ends
 * @throws Error with the last lines of its log when it does not come up
 */
export async function startSupervisor(home: Home, ports: Ports, { attached }: { attached: boolean }): Promise<void> {
  const log = openSync(home.log, 'w', 0o600);
  const parameters = [
    ...['--max-semi-space-size=8', join(import.meta.dirname, 'main.ts'), '--home', home.folder],
    ...['--api-port', String(ports.apiServer), '--ingress-port', String(ports.ingress)],
    ...['--images-port', String(ports.images)],
    ...(attached ? ['--attached'] : []),
  ];
  try {
    const child = spawn(process.execPath, parameters, {
      detached: true,
      cwd: '/',
      stdio: ['ignore', log, log, 'ipc'],
      env: { ...process.env, MALLOC_ARENA_MAX: '1', NODE_COMPILE_CACHE: join(home.node, 'compile-cache') },
    });
    await ready(child, home);
    if (attached) child.channel?.unref();
    else child.disconnect();
    child.unref();
  } finally {
    closeSync(log);
  }
}

function ready(child: ChildProcess, home: Home): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = () => {
      const said = readFileSync(home.log, 'utf8').trim().split('\n').slice(-5).join('\n');
      const Failed = /EADDRINUSE/.test(said) ? PortTakenError : Error;
      reject(new Failed(`the embedded cluster did not start; the end of ${home.log}:\n${said}`));
    };
    child.once('error', reject);
    child.once('exit', ended);
    child.once('message', () => {
      child.off('exit', ended);
      resolve();
    });
  });
}

/** Ends the process with everything that runs on it; false when none ran. What it stored stays. */
export async function stopSupervisor(home: Home): Promise<boolean> {
  const running = findSupervisor(home);
  if (!running) return false;
  await stopAll([running], stopMs);
  return true;
}
