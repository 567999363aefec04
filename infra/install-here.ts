import { join } from 'node:path';
import { writeRunInfo, type RunInfo } from './run-info.ts';
import { runSvc } from './svc.ts';

export interface InstallHereOptions {
  target: RunInfo['target'];
  /** Where `run.json` and the admin's password go. */
  folder: string;
  kubeconfig: string;
  /** Where pods of builds hand images in. */
  pushAddress: string;
  /** Of the ingress, on 127.0.0.1. */
  port: number;
  /** Each image's reference by its name. */
  references: Readonly<Record<string, string>>;
  /** Failpoints in the workers, for tests. */
  failpoints: boolean;
  /** Flags of `svc install` that only this target has. */
  flags?: readonly string[];
  /** One line of progress. */
  log: (line: string) => void;
}

/** What names of images begin with on both targets: the same names mean the same. */
const registry = 'localhost:5000';
const appsDomain = 'apps.localhost';
const adminEmail = 'admin@svc.local';

/** Has `svc install` put the platform into a cluster on this machine, and writes down where it listens. @throws Error */
export async function installHere(options: InstallHereOptions): Promise<RunInfo> {
  const { target, folder, kubeconfig, port, pushAddress, references, failpoints, flags = [], log } = options;
  const adminPasswordFile = join(folder, 'admin-password');
  const image = (name: string) => [`--image-${name}`, references[name] ?? ''];
  const python = references['build-python'];
  const { mariadb, minio, ferretdb } = references;
  await runSvc(
    [
      ...['install', '--kubeconfig', kubeconfig, ...flags],
      ...['--apps-domain', appsDomain, '--cluster', 'local'],
      ...['--scheme', 'http', '--public-port', String(port), '--entry-point', 'web'],
      ...['platform', 'function-node', 'function-python', 'postgres', 'redis'].flatMap(image),
      ...image('builder'),
      ...(mariadb === undefined ? [] : ['--image-mysql', mariadb]),
      ...(minio === undefined ? [] : ['--image-minio', minio]),
      ...(ferretdb === undefined ? [] : ['--image-mongodb', ferretdb]),
      ...(python === undefined ? [] : ['--image-build-python', python]),
      // Git servers of tests and demos are on this machine.
      ...['127.0.0.0/8', '10.0.0.0/8'].flatMap((network) => ['--git-network', network]),
      ...['--build-registry', `${registry}/builds`, '--build-push', pushAddress],
      ...['--admin-email', adminEmail, '--admin-password-file', adminPasswordFile],
      ...(failpoints ? ['--failpoints'] : []),
    ],
    log,
  );
  const api = `http://console.${appsDomain}:${port}`;
  const ingress = `http://127.0.0.1:${port}`;
  const info: RunInfo = { target, api, ingress, appsDomain, kubeconfig, adminEmail, adminPasswordFile };
  writeRunInfo(folder, info);
  return info;
}
