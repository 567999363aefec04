import { homedir } from 'node:os';
import { join } from 'node:path';

/** Versions of the tools. The go.mod files under `build/` pin them. */
export const versions = { kubernetes: '1.34.4', coredns: '1.13.2', traefik: '3.6.12' } as const;

/** A node of the cluster. */
export interface NodeSettings {
  readonly name: string;
  readonly address: string;
  /** The addresses of its pods. */
  readonly podRange: string;
  readonly podGateway: string;
}

/** The first node: this machine. Its address is on a bridge of this machine, so that it exists on any network. */
export const node = {
  name: 'testcluster',
  address: '10.97.0.1',
  podRange: '10.244.0.0/24',
  podGateway: '10.244.0.1',
} as const satisfies NodeSettings;

/** The optional second node: a network namespace of this machine, and the machine's end of the cable to it. */
export const secondNode = {
  name: 'testcluster-2',
  address: '10.97.0.2',
  podRange: '10.244.1.0/24',
  podGateway: '10.244.1.1',
  namespace: 'svc-testcluster-2',
  link: 'svcnode2',
} as const satisfies NodeSettings & Record<string, string>;

/** Address ranges, and the names of everything that the cluster adds to the machine's network. */
export const network = {
  /** The pods of both nodes. */
  podRange: '10.244.0.0/23',
  serviceRange: '10.96.0.0/16',
  kubernetesService: '10.96.0.1',
  dnsService: '10.96.0.10',
  domain: 'cluster.local',
  podBridge: 'svc0',
  nullBridge: 'svcnull',
  chain: 'SVC-TESTCLUSTER',
  cniName: 'svc-testcluster',
} as const;

/** Fixed ports: the default of each component. */
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
  ingressMetrics: 18078,
} as const;

/** A port for each server of the components. */
export type Ports = { readonly [Name in keyof typeof ports]: number };

/** Traefik's ports on 127.0.0.1. */
export interface IngressPorts {
  /** Entry point `web`, plain HTTP. */
  readonly web: number;
  /** Entry point `websecure`, TLS with Traefik's self-signed certificate. */
  readonly websecure: number;
  /** Traefik's internal entry point with the readiness check `/ping`. */
  readonly admin: number;
}

/** The default ports. */
export const defaultIngressPorts: IngressPorts = { web: 18080, websecure: 18443, admin: 18079 };

/** The folders of the cluster. `run` contains its state and is removed with it; `cache` is kept. */
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

/** Environment of Go programs: they collect garbage less often than by default, which leaves more processor time for tests. */
export const goEnvironment = { GOGC: '400', GOMEMLIMIT: '1GiB' } as const;

/**
 * The cluster's folder: `SVC_TESTCLUSTER_HOME` or `~/.cache/svc/testcluster`.
 * @param environment default: the environment of this process
 */
export function defaultHome(environment: NodeJS.ProcessEnv = process.env): string {
  const home = environment['SVC_TESTCLUSTER_HOME'];
  return home === undefined || home === '' ? join(homedir(), '.cache', 'svc', 'testcluster') : home;
}

/** The paths in a home folder. Pure: creates nothing. */
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

/** The paths of the second node's own files, and those that it shares with the cluster. Pure: creates nothing. */
export function secondNodeLayout(layout: Layout): Layout {
  const run = join(layout.run, 'node-2');
  return {
    ...layout,
    run,
    configuration: join(run, 'configuration'),
    data: join(run, 'data'),
    // As short as possible, since the path of a socket is limited.
    containerdSocket: join(layout.run, 'node-2.sock'),
  };
}
