import { spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findServerProgram } from '../../infra/local/programs.ts';
import { storeServers, type StoreServer as Server } from '../../infra/manifests/store-server.ts';
import { ferretdb, minio, obtainBinary } from '../../infra/testcluster/binaries.ts';
import { silentProgress } from '../../infra/testcluster/progress.ts';
import { defaultHome, layoutOf } from '../../infra/testcluster/settings.ts';
import { freePort, killServer, untilListening } from './servers.ts';

interface Teardown {
  teardown(end: () => unknown): void;
}

export interface StoreServer {
  host: '127.0.0.1';
  port: number;
  password: string;
  /** The folder with its data. */
  data: string;
  /** Stops the server at once; its data stays. */
  stop(): Promise<void>;
  /** Starts it again, at the same port. */
  start(): Promise<void>;
}

/** A user of every machine without rights. */
const nobodyUser = { uid: 65_534, gid: 65_534 };

/** The folders of infra/images, and the variable with the data folder of each start script. */
const images = {
  postgres: { folder: 'postgres', data: 'PGDATA' },
  mysql: { folder: 'mariadb', data: 'MARIADB_DATA' },
  redis: { folder: 'redis', data: 'REDIS_DATA' },
  minio: { folder: 'minio', data: 'MINIO_DATA' },
  mongodb: { folder: 'ferretdb', data: 'FERRETDB_DATA' },
} as const;

/**
 * A server as services of this type run it: started by its image's script, with a password and an empty folder.
 * @param events where an object store sends its events, and with which token
 */
export async function storeServer(
  t: Teardown,
  type: keyof typeof images,
  { events }: { events?: { url: string; token: string } } = {},
): Promise<StoreServer> {
  const { folder, data } = images[type];
  const { passwordFile, readiness, env: variables = {} }: Server = storeServers[type];
  const place = mkdtempSync(join(tmpdir(), `svc-${folder}-`));
  // PostgreSQL and MariaDB do not run as root. The others may be installed where only root can reach them.
  const user = process.getuid?.() === 0 && (type === 'postgres' || type === 'mysql') ? nobodyUser : undefined;
  const password = 'correct-horse';
  writeFileSync(join(place, 'password'), password, { mode: 0o644 });
  if (events) writeFileSync(join(place, 'token'), events.token);
  const port = await freePort();
  const store = join(place, 'store', 'data');
  const env = {
    ...process.env,
    ...variables,
    [data]: store,
    [passwordFile]: join(place, 'password'),
    PORT: String(port),
    LISTEN_ADDRESS: '127.0.0.1',
    SOCKET_FOLDER: '',
    TMPDIR: place,
    ...(type === 'minio' && { MINIO_PROGRAM: await builtProgram('minio') }),
    ...(events && { MINIO_EVENTS_URL: events.url, MINIO_EVENTS_TOKEN_FILE: join(place, 'token') }),
    ...(type === 'mongodb' && { FERRETDB_PROGRAM: await builtProgram('ferretdb') }),
  };
  spawnSync('mkdir', ['-p', join(place, 'store')]);
  if (user) spawnSync('chown', ['-R', `${user.uid}:${user.gid}`, place]);
  const script = join(import.meta.dirname, '../../infra/images', folder, 'start.sh');
  let pid = 0;
  const start = async () => {
    // Into a file, because a Go program that writes to a pipe without a reader is ended by SIGPIPE.
    const log = openSync(join(place, 'log'), 'w');
    const child = spawn('sh', [script], { env, detached: true, stdio: ['ignore', 'ignore', log], ...user });
    closeSync(log);
    const readLog = () => readFileSync(join(place, 'log'), 'utf8').slice(-2000);
    pid = child.pid ?? 0;
    await untilListening(port, child).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${readLog()}`);
    });
    const isAnswering = async () => {
      if (typeof readiness === 'string') return spawnSync('sh', ['-c', readiness], { env }).status === 0;
      return 'listening' in readiness || (await fetch(`http://127.0.0.1:${port}${readiness.path}`)).ok;
    };
    while (!(await isAnswering())) {
      if (child.exitCode !== null) throw new Error(`the server ended: ${readLog()}`);
    }
    child.unref();
  };
  const stop = async () => {
    // PostgreSQL's processes have their own groups, and end with it after SIGQUIT.
    if (pid > 0) await killServer(pid, type === 'postgres' ? 'SIGQUIT' : 'SIGKILL');
  };
  t.teardown(async () => {
    await stop();
    if (existsSync(place)) rmSync(place, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  });
  await start();
  return { host: '127.0.0.1', port, password, data: store, stop, start };
}

/** A program that is in no package: the one on PATH, or the one built for its image. */
async function builtProgram(name: 'minio' | 'ferretdb'): Promise<string> {
  const program = findServerProgram(name, process.env['PATH'] ?? '');
  if (program !== undefined) return program;
  return (await obtainBinary({ minio, ferretdb }[name], layoutOf(defaultHome()).cache, silentProgress)).path;
}
