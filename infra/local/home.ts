import { homedir } from 'node:os';
import { join } from 'node:path';

/** The files and folders of the embedded cluster. */
export interface Home {
  folder: string;
  /** The API server's objects and keys. */
  apiServer: string;
  /** Pods, their logs and their volumes. */
  node: string;
  images: string;
  /** What `go-cache.ts` compiled. */
  go: string;
  /** The ring of metrics. */
  metrics: string;
  log: string;
  /** What pods printed. */
  logs: string;
  /** The running process, as a {@link ProcessRecord}. */
  process: string;
  /** The ports of the last start, reused so that addresses stay the same. */
  ports: string;
}

/**
 * The folder of the embedded cluster: `SVC_HOME`; for root, a system folder, since PostgreSQL refuses to run as root
 * and its own user must reach its data; otherwise a folder of the user.
 * https://specifications.freedesktop.org/basedir-spec/latest/
 */
export function homeFolder(env: NodeJS.ProcessEnv): string {
  if (env['SVC_HOME']) return env['SVC_HOME'];
  if (process.getuid?.() === 0) return '/var/lib/svc';
  return join(env['XDG_DATA_HOME'] || join(env['HOME'] ?? homedir(), '.local/share'), 'svc');
}

/** The copy of /etc/passwd with the users of pods, which the embedded cluster sees when root starts it. */
export function passwdFile({ node }: Pick<Home, 'node'>): string {
  return join(node, 'passwd');
}

/** The files and folders below the embedded cluster's folder. Pure. */
export function homeAt(folder: string): Home {
  return {
    folder,
    apiServer: join(folder, 'apiserver'),
    node: join(folder, 'node'),
    images: join(folder, 'images'),
    go: join(folder, 'go'),
    metrics: join(folder, 'metrics', 'workloads.ring'),
    log: join(folder, 'svc-local.log'),
    logs: join(folder, 'logs'),
    process: join(folder, 'process.json'),
    ports: join(folder, 'ports.json'),
  };
}
