import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServiceAccess } from '../runtime/contracts/api/services.ts';
import type { ServiceType } from '../runtime/contracts/resources/service.ts';
import type { Environment } from './configuration.ts';

/** Where a client connects to: the service itself, or a forwarded port. */
export interface Endpoint {
  host: string;
  port: number;
  tls: boolean;
}

/** How to start a client. Its arguments are visible to all users of the machine, so they contain no secrets. */
export interface ClientStart {
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Deletes a file with secrets. */
  remove?: () => void;
}

/** A program that talks to one type of service. */
export interface ServiceClient {
  /** Names of the program, the preferred one first. */
  programs: readonly string[];
  /** What to install. */
  install: string;
  /** Whether a program of the name is this one; default: yes. */
  isIt?: (path: string) => boolean;
  /** @param words arguments that the user adds */
  start: (access: ServiceAccess, endpoint: Endpoint, words: readonly string[]) => ClientStart;
}

export const serviceClients: Readonly<Record<ServiceType, ServiceClient>> = {
  postgres: {
    programs: ['psql'],
    install: 'the PostgreSQL client (Debian: postgresql-client, Homebrew: libpq)',
    start: ({ username, password, database }, { host, port, tls }, words) => ({
      args: words,
      env: defined({
        PGHOST: host,
        PGPORT: String(port),
        PGUSER: username,
        PGPASSWORD: password,
        PGDATABASE: database,
        PGSSLMODE: tls ? 'require' : 'disable',
      }),
    }),
  },
  mysql: {
    programs: ['mysql', 'mariadb'],
    install: 'the MySQL or MariaDB client (Debian: mariadb-client, Homebrew: mysql-client)',
    start({ username, password, database }, { host, port, tls }, words) {
      const options = defined({ host, port: String(port), user: username, password, database, protocol: 'tcp' });
      const lines = Object.entries(options).map(([name, value]) => `${name}=${quoted(value)}\n`);
      const file = privateFile('my.cnf', `[client]\n${lines.filter((line) => !line.startsWith('database=')).join('')}`);
      const encryption = tls ? ['--ssl'] : [];
      const names = database === undefined ? [] : [`--database=${database}`];
      return {
        args: [`--defaults-extra-file=${file.path}`, ...encryption, ...names, ...words],
        env: {},
        remove: file.remove,
      };
    },
  },
  redis: {
    programs: ['redis-cli', 'valkey-cli'],
    install: 'redis-cli (Debian: redis-tools, Homebrew: redis)',
    start: ({ username, password }, { host, port, tls }, words) => ({
      args: [
        ...['-h', host, '-p', String(port)],
        ...(tls ? ['--tls'] : []),
        ...(username === undefined ? [] : ['--user', username]),
        ...words,
      ],
      env: defined({ REDISCLI_AUTH: password }),
    }),
  },
  mongodb: {
    programs: ['mongosh'],
    install: 'mongosh (https://www.mongodb.com/docs/mongodb-shell/install/)',
    start({ username, password, database }, { host, port, tls }, words) {
      const user =
        username === undefined ? '' : `${encodeURIComponent(username)}:${encodeURIComponent(password ?? '')}@`;
      const url = `mongodb://${user}${host}:${port}/${database ?? ''}?directConnection=true&tls=${tls}`;
      // mongosh takes an address on its command line only, so a script reads it from the environment.
      const file = privateFile('connect.js', 'db = connect(process.env.SVC_MONGODB_URL);\n');
      const args = ['--nodb', '--quiet', ...words, '--file', file.path, ...(words.length === 0 ? ['--shell'] : [])];
      return { args, env: { SVC_MONGODB_URL: url }, remove: file.remove };
    },
  },
  minio: {
    programs: ['mc', 'mcli'],
    install: 'the MinIO client mc (https://min.io/docs/minio/linux/reference/minio-mc.html)',
    isIt: (path) => !spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 5_000 }).stdout?.includes('Midnight'),
    start: ({ accessKey = '', secretKey = '' }, { host, port, tls }, words) => ({
      args: words.length > 0 ? words : ['ls', 'svc'],
      env: {
        MC_HOST_svc: `${tls ? 'https' : 'http'}://${encodeURIComponent(accessKey)}:${encodeURIComponent(secretKey)}@${host}:${port}`,
      },
    }),
  },
};

/** The path of a client's program; undefined when it is not installed. */
export function findProgram({ programs, isIt = () => true }: ServiceClient, env: Environment): string | undefined {
  const folders = (env['PATH'] ?? '').split(':').filter((folder) => folder.startsWith('/'));
  const paths = programs.flatMap((program) => folders.map((folder) => join(folder, program)));
  return paths.find((path) => isExecutable(path) && isIt(path));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A file that only this user can read. */
function privateFile(name: string, content: string): { path: string; remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'svc-'));
  const path = join(folder, name);
  writeFileSync(path, content, { mode: 0o600 });
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A value in an option file: https://dev.mysql.com/doc/refman/8.4/en/option-files.html */
function quoted(value: string): string {
  return `"${value.replaceAll(/[\\"]/g, (sign) => `\\${sign}`)}"`;
}

function defined(values: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const entries = Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(entries);
}
