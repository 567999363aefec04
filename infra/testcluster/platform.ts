import { mkdirSync } from 'node:fs';
import { buildImages } from '../images/build.ts';
import { installHere } from '../install-here.ts';
import type { RunInfo } from '../run-info.ts';
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

/**
 * Brings up the test cluster, builds and pushes the images, and installs the platform with `svc install`.
 * Run again it changes only what is not as it should be. @throws Error when a step fails, with what it said
 */
export async function upCluster({ folder, failpoints = false, log }: UpOptions): Promise<RunInfo> {
  mkdirSync(folder, { recursive: true });
  await up({ progress: lineProgress(log) });
  const { registry, registryForPods, kubeconfig, ingressPort } = paths();
  const references = await buildImages({ registry, log });
  return installHere({
    ...{ target: 'cluster', folder, kubeconfig, port: ingressPort, references, failpoints, log },
    pushAddress: registryForPods,
  });
}
