import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import packageFile from '../../package.json' with { type: 'json' };
import { installHere } from '../install-here.ts';
import type { RunInfo } from '../run-info.ts';
import { homeAt } from './home.ts';
import { createImageStore } from './node/images.ts';
import { addPlatformImages } from './platform-images.ts';
import { missingPackages } from './programs.ts';
import { readPorts } from './ports.ts';
import { closedAncestor } from './reachable.ts';
import { settledSupervisor, startOnFreePorts } from './supervisor.ts';

export interface UpOptions {
  /** See `homeFolder`. */
  folder: string;
  /** Whether it ends with this process, however this process ends. Default: it stays. */
  attached?: boolean;
  /** Port of the ingress on 127.0.0.1; default the one of the last time, or 8080, or the next that is free. */
  port?: number;
  /** Where the servers of stores and services are looked for, as folders with colons between; default `PATH`. */
  path?: string;
  /** Failpoints in the workers, for tests. Default false. */
  failpoints?: boolean;
  /** One line of progress. */
  log: (line: string) => void;
}

/**
 * Brings the embedded default up with the platform on it, as `svc install` puts it into any cluster. Run again it keeps
 * what is there and changes only what is not as it should be. @throws Error when a step fails, with what it said
 */
export async function upLocal({
  folder,
  attached = false,
  port,
  path = process.env['PATH'] ?? '',
  failpoints = false,
  log,
}: UpOptions): Promise<RunInfo> {
  const missing = missingPackages(path);
  if (missing.length > 0) {
    throw new Error(
      `the platform's stores need ${missing.join(' and ')}: install them with the system's package manager, such as \`apt-get install ${missing.join(' ')}\``,
    );
  }
  const home = homeAt(folder);
  const closed = process.getuid?.() === 0 ? closedAncestor(folder) : undefined;
  if (closed !== undefined) {
    throw new Error(
      `PostgreSQL does not run as root, and its own user cannot reach ${folder}: ${closed} is closed to others. Choose another folder with SVC_HOME`,
    );
  }
  mkdirSync(folder, { recursive: true });
  // Other users' programs run below it, PostgreSQL among them; what is secret there has modes of its own.
  chmodSync(folder, 0o711);
  const references = await addPlatformImages(createImageStore(home.images), packageFile.version, path);
  const running = await settledSupervisor(home);
  if (running) log(`the embedded cluster runs already (process ${running.pid})`);
  else log('starting the embedded cluster: API server, controllers, node, ingress');
  const ports = running ? readPorts(home.ports) : await startOnFreePorts(home, { ingress: port, attached, log });
  return installHere({
    ...{ target: 'local', folder, port: ports.ingress, references, failpoints, log },
    kubeconfig: join(home.apiServer, 'admin.kubeconfig'),
    pushAddress: `http://127.0.0.1:${ports.images}`,
    flags: ['--profile', 'nano', '--ingress-address', `http://127.0.0.1:${ports.ingress}`],
  });
}
