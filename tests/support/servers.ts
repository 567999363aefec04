import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { isPortFree } from '../../infra/local/free-port.ts';

/**
 * Real PostgreSQL and Redis servers for one run of the test suite. `before.ts` starts them, `after.ts` ends them, and the
 * test files find them through a file named after the runner's process id, so that parallel runs never share servers.
 */
export interface TestServers {
  postgres: { port: number; pid: number; url: string };
  redis: { port: number; pid: number; url: string };
  /** The folder that holds their data. */
  data: string;
}

/**
 * A migrated database that test databases are copied from. Nothing connects to it, because PostgreSQL would refuse the
 * copy.
 */
export const templateDatabase = 'svc_template';

const prefix = 'svc-tests-';

function folderOf(runner: number): string {
  return join(tmpdir(), `${prefix}${runner}`);
}

/** The servers of this run. @throws Error when the test was not started by tap */
export function testServers(): TestServers {
  const file = join(folderOf(process.ppid), 'servers.json');
  if (!existsSync(file)) throw new Error('no test servers: run the file with `npx tap <file>`, which starts them');
  return JSON.parse(readFileSync(file, 'utf8')) as TestServers;
}

/**
 * Below the ports of outgoing connections, and apart from those of the embedded cluster. `fetch` refuses port 10080
 * (https://fetch.spec.whatwg.org/#port-blocking).
 */
const ports = { first: 10_100, count: 5_900 };
/** Processes that run at the same time have adjacent ids, so each tries different ports. */
const portsEach = 64;
let portsTried = process.pid * portsEach;

/**
 * A free TCP port for a server that will listen there later, or again: until then no outgoing connection and no other
 * test's server gets it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = ports.first + (portsTried++ % ports.count);
    if (await isPortFree(port)) return port;
  }
}

/** Resolves once the port accepts connections. */
export async function untilListening(port: number, child?: ChildProcess, host = '127.0.0.1'): Promise<void> {
  for (;;) {
    if (child && child.exitCode !== null) throw new Error(`the server ended with code ${child.exitCode}`);
    const accepted = await new Promise<boolean>((resolve) => {
      const socket = connect(port, host);
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
    if (accepted) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

function postgresBinaries(): string {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  const version = versions.find((name) => existsSync(join(root, name, 'bin', 'postgres')));
  if (!version) throw new Error('PostgreSQL is not installed: run `npm run setup`');
  return join(root, version, 'bin');
}

/** PostgreSQL refuses to run as root. */
function asPostgres(command: string, args: string[]): [string, string[]] {
  return process.getuid?.() === 0 ? ['runuser', ['-u', 'postgres', '--', command, ...args]] : [command, args];
}

/**
 * Starts a private PostgreSQL below `folder`; with `port`, the one that ran there. It never waits for the disk; with
 * `survivesKill` committed data survives a kill of the server, though not of the machine.
 */
export async function startPostgres(
  folder: string,
  { survivesKill = false, port: chosenPort }: { survivesKill?: boolean; port?: number } = {},
): Promise<{ port: number; pid: number; url: string }> {
  const binaries = postgresBinaries();
  const data = join(folder, 'postgres');
  mkdirSync(data, { recursive: true });
  if (process.getuid?.() === 0) spawnSync('chown', ['postgres', data]);
  chmodSync(folder, 0o755);
  const [initdb, initArgs] = asPostgres(join(binaries, 'initdb'), [
    '-D',
    data,
    '-U',
    'svc',
    '-A',
    'trust',
    '-E',
    'UTF8',
    '--no-sync',
    '--locale=C.UTF-8',
  ]);
  // The folder belongs to its own user.
  if (chosenPort === undefined) {
    const result = spawnSync(initdb, initArgs, { cwd: tmpdir(), encoding: 'utf8' });
    if (result.status !== 0) throw new Error(`initdb failed: ${result.stderr}`);
  }
  const port = chosenPort ?? (await freePort());
  const [postgres, args] = asPostgres(join(binaries, 'postgres'), [
    '-D',
    data,
    '-p',
    String(port),
    '-k',
    data,
    '-c',
    'listen_addresses=127.0.0.1',
    '-c',
    'max_connections=300',
    '-c',
    'fsync=off',
    '-c',
    'full_page_writes=off',
    '-c',
    `synchronous_commit=${survivesKill ? 'on' : 'off'}`,
    // The data may be in memory.
    '-c',
    'max_wal_size=128MB',
  ]);
  const child = spawn(postgres, args, { cwd: tmpdir(), detached: true, stdio: 'ignore' });
  await untilListening(port, child);
  child.unref();
  const url = `postgresql://svc@127.0.0.1:${port}`;
  await untilAnswering(url);
  return { port, pid: child.pid ?? 0, url };
}

/** A server that accepts connections may still be starting, and reports that to clients. */
async function untilAnswering(url: string): Promise<void> {
  for (;;) {
    const client = new pg.Client({ connectionString: `${url}/postgres` });
    // The server may close the connection that it has just refused.
    client.on('error', () => undefined);
    try {
      await client.connect();
      return;
    } catch (error) {
      // https://www.postgresql.org/docs/15/errcodes-appendix.html: cannot_connect_now
      if ((error as { code?: string }).code !== '57P03') throw error;
      await new Promise((resolve) => setTimeout(resolve, 25));
    } finally {
      await client.end();
    }
  }
}

/** Starts a private Redis with the settings that BullMQ needs. `port` restarts one at its previous port. */
export async function startRedis(folder: string, port?: number): Promise<{ port: number; pid: number; url: string }> {
  const data = join(folder, 'redis');
  mkdirSync(data, { recursive: true });
  const chosenPort = port ?? (await freePort());
  const child = spawn(
    'redis-server',
    [
      '--port',
      String(chosenPort),
      '--bind',
      '127.0.0.1',
      '--dir',
      data,
      '--appendonly',
      'yes',
      '--save',
      '',
      '--maxmemory-policy',
      'noeviction',
    ],
    { detached: true, stdio: 'ignore' },
  );
  await untilListening(chosenPort, child);
  child.unref();
  return { port: chosenPort, pid: child.pid ?? 0, url: `redis://127.0.0.1:${chosenPort}` };
}

/** Stops a server and its children; does nothing when it has ended already. */
export function endServer(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // It ended by itself.
  }
}

/**
 * Stops a server, by default with SIGKILL, and resolves when its process group has ended and its resources are free.
 */
export async function killServer(pid: number, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  endServer(pid, signal);
  for (;;) {
    try {
      process.kill(-pid, 0);
    } catch {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Starts the servers of one run. */
export async function startServers(runner: number): Promise<TestServers> {
  await endAbandoned();
  const folder = folderOf(runner);
  mkdirSync(folder, { recursive: true });
  const data = mkdtempSync(join(dataParent(), `svc-data-${runner}-`));
  const [postgres, redis] = await Promise.all([startPostgres(data), startRedis(data)]);
  const servers: TestServers = { postgres, redis, data };
  writeFileSync(join(folder, 'servers.json'), JSON.stringify(servers));
  return servers;
}

/** In memory if there is enough: creating a database writes some thousand pages, which takes half as long there. */
function dataParent(): string {
  const memory = '/dev/shm';
  const enoughBytes = 4 * 2 ** 30;
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize >= enoughBytes ? memory : tmpdir();
}

/** Stops the servers of one run and removes their files. */
export async function endServers(runner: number): Promise<void> {
  const folder = folderOf(runner);
  const file = join(folder, 'servers.json');
  if (existsSync(file)) {
    const { postgres, redis, data } = JSON.parse(readFileSync(file, 'utf8')) as Omit<TestServers, 'data'> & {
      data?: string;
    };
    // PostgreSQL's processes have their own groups and write until they end; after SIGQUIT, the immediate shutdown, the
    // server waits for them (https://www.postgresql.org/docs/15/server-shutdown.html).
    await Promise.all([killServer(postgres.pid, 'SIGQUIT'), killServer(redis.pid)]);
    // A run of an older checkout kept its data in `folder`.
    if (data !== undefined) rmSync(data, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
}

/** A run that was killed leaves its servers running; the next run stops them. */
async function endAbandoned(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(prefix))) {
    const runner = Number(name.slice(prefix.length));
    if (Number.isInteger(runner) && !existsSync(`/proc/${runner}`)) await endServers(runner);
  }
}
