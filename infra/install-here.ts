import { join } from 'node:path';
import { writeRunInfo, type RunInfo } from './run-info.ts';
import { runSvc } from './svc.ts';

export interface InstallHereOptions {
  target: RunInfo['target'];
  /** The folder for `run.json` and the admin's password. */
  folder: string;
  kubeconfig: string;
  /** The address that build pods push images to. */
  pushAddress: string;
  /** The ingress's port on 127.0.0.1. */
  port: number;
  /** Image references by image name. */
  references: Readonly<Record<string, string>>;
  /** Whether the workers get failpoints, for tests. */
  failpoints: boolean;
  /** Private networks whose git servers may be used. Default: none is added to those that the installation has. */
  gitNetworks?: readonly string[];
  /** Further flags of `svc install` for this target. */
  flags?: readonly string[];
  /** Prints one line of progress. */
  log: (line: string) => void;
}

/** The registry in image names, the same on both targets. */
const registry = 'localhost:5000';
const appsDomain = 'apps.localhost';
const adminEmail = 'admin@svc.local';

/** The arguments of `svc` that install the platform in a cluster on this machine. Pure. */
export function installArguments(options: Omit<InstallHereOptions, 'target' | 'log'>): string[] {
  const { folder, kubeconfig, port, pushAddress, references, failpoints, gitNetworks = [], flags = [] } = options;
  const image = (name: string) => [`--image-${name}`, references[name] ?? ''];
  const { 'build-python': python, 'build-go': go } = references;
  const { mariadb, minio, ferretdb } = references;
  return [
    'install',
    '--kubeconfig',
    kubeconfig,
    ...flags,
    '--apps-domain',
    appsDomain,
    '--cluster',
    'local',
    '--scheme',
    'http',
    '--public-port',
    String(port),
    '--entry-point',
    'web',
    ...['platform', 'function-node', 'function-python', 'postgres', 'redis'].flatMap(image),
    ...image('builder'),
    ...(mariadb === undefined ? [] : ['--image-mysql', mariadb]),
    ...(minio === undefined ? [] : ['--image-minio', minio]),
    ...(ferretdb === undefined ? [] : ['--image-mongodb', ferretdb]),
    ...(python === undefined ? [] : ['--image-build-python', python]),
    ...(go === undefined ? [] : ['--image-build-go', go]),
    ...gitNetworks.flatMap((network) => ['--git-network', network]),
    '--build-registry',
    `${registry}/builds`,
    '--build-push',
    pushAddress,
    '--admin-email',
    adminEmail,
    '--admin-password-file',
    passwordFileIn(folder),
    ...(failpoints ? ['--failpoints'] : []),
  ];
}

function passwordFileIn(folder: string): string {
  return join(folder, 'admin-password');
}

/** Installs the platform with `svc install` in a cluster on this machine, and writes `run.json`. @throws Error */
export async function installHere(options: InstallHereOptions): Promise<RunInfo> {
  const { target, folder, kubeconfig, port, log } = options;
  await runSvc(installArguments(options), log);
  const api = `http://console.${appsDomain}:${port}`;
  const ingress = `http://127.0.0.1:${port}`;
  const adminPasswordFile = passwordFileIn(folder);
  const info: RunInfo = { target, api, ingress, appsDomain, kubeconfig, adminEmail, adminPasswordFile };
  writeRunInfo(folder, info);
  return info;
}
