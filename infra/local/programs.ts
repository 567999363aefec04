import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The system's programs that the platform's own stores are, as Debian names their packages. */
const packages = {
  'redis-server': (path: string) => isInPath('redis-server', path),
  postgresql: (path: string) => isInPath('postgres', path) || debianPostgres(),
} as const;

/** The packages that are missing on this machine. @param path the search path of programs */
export function missingPackages(path: string): string[] {
  return Object.entries(packages)
    .filter(([, isThere]) => !isThere(path))
    .map(([name]) => name);
}

/** A server that no package of Debian has, on this machine; undefined where there is none. */
export function findProgram(name: 'minio' | 'ferretdb', path: string): string | undefined {
  return path
    .split(':')
    .map((folder) => join(folder, name))
    .find((program) => existsSync(program));
}

/** The Node for functions: of the version that their image has, or the one that runs this where setup did not bring it. */
export function functionNode(): string {
  const program = join(import.meta.dirname, `function-node/node_modules/node-linux-${process.arch}/bin/node`);
  return existsSync(program) ? program : process.execPath;
}

/** Whether services of the type mysql can run here: Debian keeps the server where ordinary users do not look. */
export function hasMariadb(path: string): boolean {
  return isInPath('mariadbd', `${path}:/usr/sbin`);
}

function isInPath(program: string, path: string): boolean {
  return path.split(':').some((folder) => existsSync(join(folder, program)));
}

/** Debian keeps servers of several versions side by side, outside of the search path. */
function debianPostgres(): boolean {
  const versions = '/usr/lib/postgresql';
  if (!existsSync(versions)) return false;
  return readdirSync(versions).some((version) => existsSync(join(versions, version, 'bin/postgres')));
}
