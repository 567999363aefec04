import { homedir } from 'node:os';
import { join } from 'node:path';

/** Versions of what is built; the pins themselves are the go.mod files under `build/`. */
export const versions = { kubernetes: '1.34.4', coredns: '1.13.2', traefik: '3.6.12' } as const;

/** The one node. Its address lies on a bridge of this machine, so that it exists whatever networks the machine has. */
export const node = { name: 'testcluster', address: '10.97.0.1' } as const;

/** Address ranges and the names of what the cluster adds to the machine's network. */
export const network = {
  podRange: '10.244.0.0/24',
  podGateway: '10.244.0.1',
  serviceRange: '10.96.0.0/16',
  kubernetesService: '10.96.0.1',
  dnsService: '10.96.0.10',
  domain: 'cluster.local',
  podBridge: 'svc0',
  nullBridge: 'svcnull',
  chain: 'SVC-TESTCLUSTER',
  cniName: 'svc-testcluster',
} as const;

/** Ports that cannot be chosen: the usual ones of each component. */
export const ports = {
  apiServer: 6443,
  etcd: 2379,
  etcdPeer: 2380,
  kubelet: 10250,
  kubeletHealth: 10248,
  proxyMetrics: 10249,
  proxyHealth: 10256,
  controllerManager: 10257,
  scheduler: 10259,
  registry: 5000,
} as const;

/** Ports on 127.0.0.1 at which Traefik serves. */
export interface IngressPorts {
  /** Entry point `web`, plain HTTP. */
  readonly web: number;
  /** Entry point `websecure`, TLS with Traefik's self-signed certificate. */
  readonly websecure: number;
  /** Traefik's own entry point: `/ping`, which says that it is ready. */
  readonly admin: number;
}

/** The ports used unless told otherwise. */
export const defaultIngressPorts: IngressPorts = { web: 18080, websecure: 18443, admin: 18079 };

/** Where everything lies: `cache` outlives the cluster, `run` is the cluster's state and goes with it. */
export interface Layout {
  readonly home: string;
  readonly cache: string;
  readonly lock: string;
  readonly run: string;
  readonly bin: string;
  readonly pki: string;
  readonly configuration: string;
  readonly data: string;
  readonly logs: string;
  readonly processes: string;
  readonly kubeconfig: string;
  readonly containerdSocket: string;
  readonly state: string;
}

/**
 * The folder that holds everything: `SVC_TESTCLUSTER_HOME`, else `~/.cache/svc/testcluster`.
 * @param environment where to look; the process's own unless told
 */
export function defaultHome(environment: NodeJS.ProcessEnv = process.env): string {
  const chosen = environment['SVC_TESTCLUSTER_HOME'];
  return chosen === undefined || chosen === '' ? join(homedir(), '.cache', 'svc', 'testcluster') : chosen;
}

/** The places under one home folder. Pure: nothing is made. */
export function layoutOf(home: string): Layout {
  const run = join(home, 'run');
  return {
    home,
    cache: join(home, 'binaries'),
    lock: join(home, 'lock'),
    run,
    bin: join(run, 'bin'),
    pki: join(run, 'pki'),
    configuration: join(run, 'configuration'),
    data: join(run, 'data'),
    logs: join(run, 'logs'),
    processes: join(run, 'processes'),
    kubeconfig: join(run, 'kubeconfig'),
    containerdSocket: join(run, 'containerd.sock'),
    state: join(run, 'state.json'),
  };
}
