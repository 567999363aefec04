import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installation } from '../../../infra/manifests/platform/installation.ts';
import type { PlatformSettings } from '../../../infra/manifests/platform/settings.ts';
import { customResourceDefinitions } from '../../../infra/crds/custom-resources.ts';
import { waitUntilEstablished } from '../../../infra/install/readiness.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { systemNamespace } from '../../../runtime/domain/labels.ts';
import { applyObject } from '../../../runtime/kube/children.ts';
import { freePort } from '../../support/servers.ts';
import type { FakeNodesCluster } from './fake-nodes.ts';
import { say } from './measures.ts';
import { sampleProcess, type Sample } from './process-metrics.ts';

const root = join(import.meta.dirname, '../../..');
const name = 'svc-controllers';
const establishMs = 60_000;
/**
 * What V8 chooses in the platform's pod, whose limit is 512 MiB: half of it for objects, and little for new ones, for
 * which it would take 128 MB on a large machine.
 */
const heap = ['--max-old-space-size=256', '--max-semi-space-size=1'];

const image = (program: string) => `registry.example/svc/${program}:bench`;
const settings: PlatformSettings = {
  appsDomain: 'bench.example',
  cluster: 'bench',
  scheme: 'https',
  entryPoints: ['websecure'],
  optional: {},
  images: {
    platform: image('platform'),
    functionNode: image('function-node'),
    postgres: image('postgres'),
    redis: image('redis'),
  },
  adminEmail: 'admin@bench.example',
  scrape: false,
  failpoints: false,
};

/** Installs what svc-controllers needs: custom resources, namespaces, accounts with their rights, and the settings. */
export async function installForControllers({ kube, applyFile, traefikResources }: FakeNodesCluster): Promise<void> {
  const deadline = systemClock.monotonic() + establishMs;
  await applyFile(traefikResources);
  for (const definition of customResourceDefinitions) await applyObject(kube, definition);
  const names = customResourceDefinitions.map(({ metadata }) => metadata.name);
  await waitUntilEstablished(names, { kube, clock: systemClock, deadline, log: say });
  const { namespace, environmentRoles, access, platform } = installation(settings);
  const config = platform.filter(({ kind }) => kind === kinds.PlatformConfig.kind);
  for (const object of [namespace, ...environmentRoles, ...access, ...config]) await applyObject(kube, object);
}

/** One life of svc-controllers. */
export interface OwnControllers {
  sample(): Promise<Sample | undefined>;
  /** @throws Error when it has ended by itself, as a leader does that could not renew its lease */
  requireRunning(): void;
  /** The most memory that it has used so far. */
  peakBytes(): number;
  /** Sends SIGTERM, and waits for its end. */
  stop(): Promise<void>;
}

export interface ControllersOptions {
  /** For the service account, and the log. */
  folder: string;
  databaseUrl: string;
  /** Writes a profile of each life into this folder. */
  profileFolder?: string | undefined;
}

/** Starts svc-controllers as in its pod: with its service account, and a heap as its memory limit allows. */
export async function startControllers(
  { kubectl, apiServer }: FakeNodesCluster,
  { folder, databaseUrl, profileFolder }: ControllersOptions,
): Promise<OwnControllers> {
  const account = join(folder, 'account');
  mkdirSync(account, { recursive: true, mode: 0o700 });
  const token = await kubectl('create', 'token', name, `--namespace=${systemNamespace}`, '--duration=8h');
  writeFileSync(join(account, 'token'), token, { mode: 0o600 });
  writeFileSync(join(account, 'ca.crt'), apiServer.authority);
  const port = await freePort();
  const logFile = join(folder, `${name}.log`);
  const log = openSync(logFile, 'a');
  const profile = profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`];
  const child = spawn(process.execPath, [...heap, ...profile, 'workers/controllers/main.ts'], {
    cwd: root,
    stdio: ['ignore', log, log],
    env: {
      PATH: process.env['PATH'],
      KUBERNETES_SERVICE_HOST: apiServer.host,
      KUBERNETES_SERVICE_PORT: String(apiServer.port),
      SERVICE_ACCOUNT_FOLDER: account,
      DATABASE_URL: databaseUrl,
      ADMIN_PORT: String(port),
      POD_NAME: `${name}-${port}`,
      POD_NAMESPACE: systemNamespace,
    },
  });
  closeSync(log);
  const ended = once(child, 'exit');
  const requireRunning = () => {
    if (child.exitCode === null) return;
    const lines = readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-3);
    throw new Error(`${name} has ended with code ${child.exitCode}. Its last lines:\n${lines.join('\n')}`);
  };
  return {
    requireRunning,
    async sample() {
      requireRunning();
      return sampleProcess(`${name}-${port}`, `http://127.0.0.1:${port}`);
    },
    peakBytes: () => peakOf(child.pid ?? 0),
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** `VmHWM` of proc(5). */
function peakOf(pid: number): number {
  const match = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(match?.[1]) * 1024;
}
