import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The programs that the platform's own stores need, by Debian package name. */
const packages = {
  'redis-server': (path: string) => isInPath('redis-server', path),
  postgresql: (path: string) => isInPath('postgres', path) || debianPostgres(),
} as const;

/** The required packages that are not installed. @param path search path for programs */
export function missingPackages(path: string): string[] {
  return Object.entries(packages)
    .filter(([, isInstalled]) => !isInstalled(path))
    .map(([name]) => name);
}

/** The path of a server that Debian does not package; undefined when it is not installed. */
export function findServerProgram(name: 'minio' | 'ferretdb', path: string): string | undefined {
  return path
    .split(':')
    .map((folder) => join(folder, name))
    .find((program) => existsSync(program));
}

/**
 * The Node.js for functions: the version of the function image, or the one that runs this process when setup has not
 * installed it.
 */
export function functionNode(): string {
  const program = join(import.meta.dirname, `function-node/node_modules/node-linux-${process.arch}/bin/node`);
  return existsSync(program) ? program : process.execPath;
}

/**
 * Whether MariaDB is installed, which services of type mysql need. Debian installs it outside the PATH of ordinary
 * users.
 */
export function hasMariadb(path: string): boolean {
  return isInPath('mariadbd', `${path}:/usr/sbin`);
}

function isInPath(program: string, path: string): boolean {
  return path.split(':').some((folder) => existsSync(join(folder, program)));
}

/** Debian installs each version of the server in its own folder, outside the PATH. */
function debianPostgres(): boolean {
  const versions = '/usr/lib/postgresql';
  if (!existsSync(versions)) return false;
  return readdirSync(versions).some((version) => existsSync(join(versions, version, 'bin/postgres')));
}
