import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { buildImages } from '../images/build.ts';
import { writeRunInfo, type RunInfo } from '../run-info.ts';
import { runSvc } from '../svc.ts';
import { paths, up } from './cluster.ts';
import { lineProgress } from './progress.ts';

export interface UpOptions {
  /** Where `run.json` and the admin's password go. */
  folder: string;
  /** Failpoints in the workers, for tests. Default false. */
  failpoints?: boolean;
  /** One line of progress. */
  log: (line: string) => void;
}

const appsDomain = 'apps.localhost';
const adminEmail = 'admin@svc.local';

/**
 * Brings up the test cluster, builds and pushes the images, and installs the platform with `svc install`.
 * Run again it changes only what is not as it should be. @throws Error when a step fails, with what it said
 */
export async function upCluster({ folder, failpoints = false, log }: UpOptions): Promise<RunInfo> {
  mkdirSync(folder, { recursive: true });
  await up({ progress: lineProgress(log) });
  const { registry, kubeconfig, ingressPort } = paths();
  const references = await buildImages({ registry, log });
  const adminPasswordFile = join(folder, 'admin-password');
  const image = (name: string) => [`--image-${name}`, references[name] ?? ''];
  await runSvc(
    [
      ...['install', '--kubeconfig', kubeconfig],
      ...['--apps-domain', appsDomain, '--cluster', 'local'],
      ...['--scheme', 'http', '--public-port', String(ingressPort), '--entry-point', 'web'],
      ...['platform', 'function-node', 'postgres', 'redis'].flatMap(image),
      ...['--admin-email', adminEmail, '--admin-password-file', adminPasswordFile],
      ...(failpoints ? ['--failpoints'] : []),
    ],
    log,
  );
  const api = `http://console.${appsDomain}:${ingressPort}`;
  const ingress = `http://127.0.0.1:${ingressPort}`;
  const info: RunInfo = { target: 'cluster', api, ingress, appsDomain, kubeconfig, adminEmail, adminPasswordFile };
  writeRunInfo(folder, info);
  return info;
}
