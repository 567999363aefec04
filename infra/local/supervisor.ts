import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { stopAll } from '../testcluster/processes.ts';
import { passwdFile, type Home } from './home.ts';
import { choosePorts, type Ports } from './ports.ts';
import { rootCommand } from './root-command.ts';
import { findSupervisor, type Supervisor } from './supervisor-record.ts';

/** Time limit for stopping everything; longer than `runtime/process/lifecycle.ts` allows. */
const stopMs = 30_000;

/** How many times to choose ports when other programs take them first. */
const portTries = 5;

/** Another program took a port between the check and our start. */
class PortTakenError extends Error {}

/** Waits until the process is ready. @returns undefined when no process runs, or when it ends during the wait */
export async function waitForSupervisor(home: Home): Promise<Supervisor | undefined> {
  for (;;) {
    const record = findSupervisor(home);
    if (!record || record.state === 'ready') return record;
    await delay(50);
  }
}

/**
 * Chooses ports (see {@link choosePorts}) and starts the embedded cluster on them. When another program takes a port
 * first, it chooses again.
 * @throws Error as {@link choosePorts} and {@link startSupervisor}
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
      log('another program took one of the ports; choosing again');
    }
  }
}

/**
 * Starts the process of the embedded cluster in its own session and waits until everything runs.
 * @param options.attached whether it stops when the calling process ends, for whatever reason
 * @throws Error with the last lines of its log when it does not start
 */
export async function startSupervisor(home: Home, ports: Ports, { attached }: { attached: boolean }): Promise<void> {
  const log = openSync(home.log, 'w', 0o600);
  const isRoot = process.getuid?.() === 0;
  const node = [
    process.execPath,
    '--max-semi-space-size=8',
    join(import.meta.dirname, 'main.ts'),
    '--home',
    home.folder,
    '--api-port',
    String(ports.apiServer),
    '--ingress-port',
    String(ports.ingress),
    '--images-port',
    String(ports.images),
    '--metrics-port',
    String(ports.metrics),
    '--logs-port',
    String(ports.logs),
    ...(attached ? ['--attached'] : []),
    ...(isRoot ? ['--passwd', passwdFile(home)] : []),
  ];
  try {
    mkdirSync(home.node, { recursive: true });
    const [program = '', ...parameters] = isRoot ? rootCommand(node) : node;
    const child = spawn(program, parameters, {
      detached: true,
      cwd: '/',
      stdio: ['ignore', log, log, 'ipc'],
      env: { ...process.env, MALLOC_ARENA_MAX: '1', NODE_COMPILE_CACHE: join(home.node, 'compile-cache') },
    });
    await waitUntilReady(child, home);
    if (attached) child.channel?.unref();
    else child.disconnect();
    child.unref();
  } finally {
    closeSync(log);
  }
}

function waitUntilReady(child: ChildProcess, home: Home): Promise<void> {
  return new Promise((resolve, reject) => {
    const onExit = () => {
      const lastLines = readFileSync(home.log, 'utf8').trim().split('\n').slice(-5).join('\n');
      const Failed = /EADDRINUSE/.test(lastLines) ? PortTakenError : Error;
      reject(new Failed(`The embedded cluster did not start. The last lines of ${home.log}:\n${lastLines}`));
    };
    child.once('error', reject);
    child.once('exit', onExit);
    child.once('message', () => {
      child.off('exit', onExit);
      resolve();
    });
  });
}

/** Stops the process and all pods. Stored data is kept. @returns false when it was not running */
export async function stopSupervisor(home: Home): Promise<boolean> {
  const running = findSupervisor(home);
  if (!running) return false;
  await stopAll([running], stopMs);
  return true;
}
