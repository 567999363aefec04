import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createKubeClient } from '../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../runtime/kube/kubeconfig.ts';
import packageFile from '../../package.json' with { type: 'json' };
import { buildConsole } from '../console/build.ts';
import { installHere } from '../install-here.ts';
import type { RunInfo } from '../run-info.ts';
import { homeAt, type Home } from './home.ts';
import { createImageStore } from './node/images.ts';
import { findMissingRight } from './node/users.ts';
import { addPlatformImages } from './platform-images.ts';
import { missingPackages } from './programs.ts';
import { readPorts } from './ports.ts';
import { findClosedAncestor } from './folder-permissions.ts';
import { ensureStoreCredentials } from './store-credentials.ts';
import { waitForSupervisor, startOnFreePorts } from './supervisor.ts';

export interface UpOptions {
  /** See `homeFolder`. */
  folder: string;
  /** Whether it stops when this process ends, for whatever reason. Default false. */
  attached?: boolean;
  /** Port of the ingress on 127.0.0.1. Default: the port of the last start, or 8080 or the next free one. */
  port?: number;
  /** Search path for the servers of stores and services. Default `PATH`. */
  path?: string;
  /** Enables failpoints in the workers, for tests. Default false. */
  failpoints?: boolean;
  /** Private networks whose git servers may be used, for tests; a platform admin sets them with `svc platform config set`. */
  gitNetworks?: readonly string[];
  /** Prints one line of progress. */
  log: (line: string) => void;
}

/**
 * Starts the embedded cluster and installs the platform on it, as `svc install` does on any cluster. Run again, it
 * keeps existing data and changes only what differs. @throws Error when a step fails, with its output
 */
export async function upLocal({
  folder,
  attached = false,
  port,
  path = process.env['PATH'] ?? '',
  failpoints = false,
  gitNetworks = [],
  log,
}: UpOptions): Promise<RunInfo> {
  const missing = missingPackages(path);
  if (missing.length > 0) {
    throw new Error(
      `Required packages are missing: ${missing.join(', ')}. Install them with your package manager, for example: apt-get install ${missing.join(' ')}`,
    );
  }
  const home = homeAt(folder);
  if (process.getuid?.() === 0) requireUsersForPods(folder);
  mkdirSync(folder, { recursive: true });
  // Pods of other users need to enter this folder. Secret files in it have their own modes.
  chmodSync(folder, 0o711);
  await buildConsole(log);
  const references = await addPlatformImages(createImageStore(home.images), packageFile.version, {
    path,
    copies: join(home.node, 'copies'),
  });
  const running = await waitForSupervisor(home);
  if (running && port !== undefined) requirePort(home, port);
  if (running) log(`the embedded cluster is already running (process ${running.pid})`);
  else log('starting the embedded cluster: API server, controllers, node, ingress');
  const ports = running ? readPorts(home.ports) : await startOnFreePorts(home, { ingress: port, attached, log });
  const kubeconfig = join(home.apiServer, 'admin.kubeconfig');
  const info = await installHere({
    target: 'local',
    folder,
    port: ports.ingress,
    references,
    failpoints,
    gitNetworks,
    log,
    kubeconfig,
    pushAddress: `http://127.0.0.1:${ports.images}`,
    flags: [
      ...['--profile', 'nano', '--one-checker', '--monitoring', 'embedded', '--build-maker', 'folder'],
      ...['--ingress-address', `http://127.0.0.1:${ports.ingress}`],
      ...['--metrics-store-url', `ring+http://127.0.0.1:${ports.metrics}`],
      ...['--log-store-url', `http://127.0.0.1:${ports.logs}`],
    ],
  });
  const kube = createKubeClient(loadKubeConfig(kubeconfig));
  try {
    await ensureStoreCredentials(kube, `127.0.0.1:${ports.images}`);
  } finally {
    await kube.close();
  }
  return info;
}

/** @throws Error when the running ingress has another port */
function requirePort(home: Home, port: number): void {
  const { ingress } = readPorts(home.ports);
  if (ingress === port) return;
  throw new Error(
    `The platform already runs on port ${ingress}. To change the port, stop it first: svc down && svc up --port ${port}`,
  );
}

/** As root, each pod runs as a user of its own. @throws Error when this machine does not allow that */
function requireUsersForPods(folder: string): void {
  const missing = findMissingRight();
  if (missing !== undefined) {
    throw new Error(
      `Started by root, each pod gets a user of its own, which needs ${missing}. Start the platform as an ordinary user, whose pods all run as this user.`,
    );
  }
  const closedFolder = findClosedAncestor(folder);
  if (closedFolder !== undefined) {
    throw new Error(
      `Pods cannot reach ${folder}: only the owner may enter ${closedFolder}, and pods do not run as root. Choose another folder with SVC_HOME.`,
    );
  }
}
