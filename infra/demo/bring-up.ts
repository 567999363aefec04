import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildImages } from '../images/build.ts';
import { paths, up } from '../testcluster/cluster.ts';
import { lineProgress } from '../testcluster/progress.ts';
import { root } from './program.ts';

/** Where a running platform listens and its first credentials: the content of `run.json` (design: one file, one shape). */
export interface RunInfo {
  /** The management API's base address. */
  api: string;
  /** The ingress as this machine reaches it; the public host goes into the Host header or resolves to loopback. */
  ingress: string;
  appsDomain: string;
  kubeconfig: string;
  adminEmail: string;
  /** A file with the admin's password, readable by its owner only. */
  adminPasswordFile: string;
}

export interface BringUpOptions {
  /** Where `run.json` and the admin's password go. Default: `SVC_HOME` or `.svc` in the checkout. */
  home?: string;
  /** Failpoints in the workers, for tests. Default false. */
  failpoints?: boolean;
  /** One line of progress. */
  log: (line: string) => void;
}

/** The folder of a run's files: `SVC_HOME`, or `.svc` in the checkout. */
export function svcHome(): string {
  return process.env['SVC_HOME'] ?? join(root, '.svc');
}

/** What the last {@link bringUp} wrote. @throws Error when nothing was brought up */
export function readRunInfo(home = svcHome()): RunInfo {
  return JSON.parse(readFileSync(join(home, 'run.json'), 'utf8')) as RunInfo;
}

/**
 * Brings up the test cluster, builds and pushes the images, and installs the platform with `svc install`.
 * Run again it changes only what is not as it should be. @throws Error when a step fails, with what it said
 */
export async function bringUp(options: BringUpOptions): Promise<RunInfo> {
  const home = options.home ?? svcHome();
  mkdirSync(home, { recursive: true });
  await up({ progress: lineProgress(options.log) });
  const cluster = paths();
  const images = await buildImages({ registry: cluster.registry, log: options.log });
  const appsDomain = 'apps.localhost';
  const adminPasswordFile = join(home, 'admin-password');
  await runSvc(
    [
      'install',
      ...['--kubeconfig', cluster.kubeconfig],
      ...['--apps-domain', appsDomain, '--cluster', 'local'],
      ...['--scheme', 'http', '--public-port', String(cluster.ingressPort), '--entry-point', 'web'],
      ...['--image-platform', image(images, 'platform'), '--image-function-node', image(images, 'function-node')],
      ...['--image-postgres', image(images, 'postgres'), '--image-redis', image(images, 'redis')],
      ...['--admin-password-file', adminPasswordFile],
      ...(options.failpoints ? ['--failpoints'] : []),
    ],
    options.log,
  );
  const info: RunInfo = {
    api: `http://console.${appsDomain}:${cluster.ingressPort}`,
    ingress: `http://127.0.0.1:${cluster.ingressPort}`,
    appsDomain,
    kubeconfig: cluster.kubeconfig,
    adminEmail: 'admin@svc.local',
    adminPasswordFile,
  };
  writeFileSync(join(home, 'run.json'), `${JSON.stringify(info, null, 2)}\n`);
  return info;
}

function image(images: Readonly<Record<string, string>>, name: string): string {
  const reference = images[name];
  if (!reference) throw new Error(`the image "${name}" was not built`);
  return reference;
}

/** Runs the command line as a user would and passes its progress on. */
async function runSvc(args: string[], log: (line: string) => void): Promise<void> {
  const child = spawn(process.execPath, [join(root, 'cli/main.ts'), ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  const take = (chunk: Buffer) => {
    said += chunk.toString();
    for (const line of chunk.toString().split('\n').filter(Boolean)) log(line);
  };
  child.stdout.on('data', take);
  child.stderr.on('data', take);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`svc ${args[0]} ended with code ${code}:\n${said}`);
}
