import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where the embedded default keeps everything. */
export interface Home {
  folder: string;
  /** The API server's objects and keys. */
  apiServer: string;
  /** Pods, their logs and their volumes. */
  node: string;
  images: string;
  log: string;
  /** The running process, as {@link ProcessRecord}. */
  process: string;
  /** The ports that it was last given, so that addresses stay. */
  ports: string;
}

/**
 * The folder of the embedded default: `SVC_HOME`; else one of the machine for root, since PostgreSQL refuses to run as
 * root and another user must reach its data; else one of the user's.
 * https://specifications.freedesktop.org/basedir-spec/latest/
 */
export function homeFolder(env: NodeJS.ProcessEnv): string {
  if (env['SVC_HOME']) return env['SVC_HOME'];
  if (process.getuid?.() === 0) return '/var/lib/svc';
  return join(env['XDG_DATA_HOME'] || join(env['HOME'] ?? homedir(), '.local/share'), 'svc');
}

/** The places in a folder of the embedded default. Pure. */
export function homeAt(folder: string): Home {
  return {
    folder,
    apiServer: join(folder, 'apiserver'),
    node: join(folder, 'node'),
    images: join(folder, 'images'),
    log: join(folder, 'svc-local.log'),
    process: join(folder, 'process.json'),
    ports: join(folder, 'ports.json'),
  };
}
