import { mkdirSync } from 'node:fs';
import { buildImages } from '../images/build.ts';
import { installHere } from '../install-here.ts';
import type { RunInfo } from '../run-info.ts';
import { paths, up } from './cluster.ts';
import { node, ports } from './settings.ts';
import { lineProgress } from './progress.ts';

export interface UpOptions {
  /** The folder for `run.json` and the admin's password. */
  folder: string;
  /** Failpoints in the workers, for tests. Default false. */
  failpoints?: boolean;
  /** Private networks whose git servers may be used, for tests. Default: none. */
  gitNetworks?: readonly string[];
  /** Prints one line of progress. */
  log: (line: string) => void;
}

/**
 * Starts the test cluster, builds and pushes the images, and installs the platform with `svc install`. Repeating it changes
 * only differences. @throws Error with the output of a step that fails
 */
export async function upCluster({ folder, failpoints = false, gitNetworks = [], log }: UpOptions): Promise<RunInfo> {
  mkdirSync(folder, { recursive: true });
  await up({ progress: lineProgress(log) });
  const { registry, registryForPods, kubeconfig, ingressPort } = paths();
  const references = await buildImages({ registry, log });
  return installHere({
    target: 'cluster',
    folder,
    kubeconfig,
    port: ingressPort,
    references,
    failpoints,
    log,
    pushAddress: registryForPods,
    gitNetworks,
    flags: [...monitoringFlags(references), '--ingress-metrics', `${node.address}:${ports.ingressMetrics}`],
  });
}

/**
 * Images of Debian's packages, since upstream ones cannot be pulled here. The stores start disabled, because only some
 * tests need their memory, and there is no image of Grafana.
 */
function monitoringFlags(references: Readonly<Record<string, string>>): string[] {
  const image = (component: string, name: string) => [`--image-${component}`, references[name] ?? ''];
  return [
    ...image('metrics-store', 'prometheus'),
    ...image('node-exporter', 'node-exporter'),
    ...image('alertmanager', 'alertmanager'),
    ...['metrics-store', 'log-store', 'dashboards'].flatMap((component) => ['--without', component]),
  ];
}
