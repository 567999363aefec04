import { join } from 'node:path';
import type { Layout, NodeSettings, Ports } from './settings.ts';
import { network, node, ports as defaultPorts } from './settings.ts';

/** One process of the cluster on the machine. */
export interface Component {
  readonly name: ComponentName;
  /** The program: a link in the layout's `bin` folder, or a program of the system. */
  readonly program: string;
  readonly parameters: readonly string[];
}

/** The processes of the second node, whose order is that of their start. */
export const secondNodeNames = ['containerd-2', 'kubelet-2', 'kube-proxy-2', 'volume-provisioner-2'] as const;

/** The cluster's processes by name, without those of the second node. */
export type ComponentName =
  | 'etcd'
  | 'containerd'
  | 'registry'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-scheduler'
  | 'kubelet'
  | 'kube-proxy'
  | 'volume-provisioner';

/** Names by which the multi-call binary is called. */
export const kubernetesPrograms = [
  ...(['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet', 'kube-proxy'] as const),
  ...(['volume-provisioner', 'kubectl'] as const),
];

/** The users that get a kubeconfig: the name of the file and of the certificate in it. */
export const kubeconfigUsers = ['controller-manager', 'scheduler', 'node', 'proxy', 'volume-provisioner'] as const;

/** Names of the cluster's programs, to find processes that were never recorded. */
export const programNames: ReadonlySet<string> = new Set([
  ...kubernetesPrograms.filter((name) => name !== 'kubectl'),
  'containerd',
  'containerd-shim-runc-v2',
  'docker-registry',
  'runc',
]);

/** Seconds after which the pods of a node that is lost are replaced. */
const lostNodeTolerationSeconds = 10;

/** Issuer of service account tokens, and the first audience that the API server accepts. */
export const tokenIssuer = `https://kubernetes.default.svc.${network.domain}`;

/** Address at which this machine's own clients reach the API server. */
export const apiServerUrl = `https://127.0.0.1:${defaultPorts.apiServer}`;

/**
 * Every component with its command line. Pure.
 * @param ports default: the fixed ones of the test cluster
 */
export function components(layout: Layout, ports: Ports = defaultPorts): Component[] {
  const bin = (name: string): string => join(layout.bin, name);
  const configuration = (name: string): string => join(layout.configuration, name);
  const kubeconfig = (user: (typeof kubeconfigUsers)[number]): string => configuration(`${user}.kubeconfig`);
  return [
    { name: 'etcd', program: bin('etcd'), parameters: etcdParameters(layout, ports) },
    { name: 'containerd', program: 'containerd', parameters: ['--config', configuration('containerd.toml')] },
    { name: 'registry', program: 'docker-registry', parameters: ['serve', configuration('registry.yaml')] },
    { name: 'kube-apiserver', program: bin('kube-apiserver'), parameters: apiServerParameters(layout, ports) },
    {
      name: 'kube-controller-manager',
      program: bin('kube-controller-manager'),
      parameters: controllerManagerParameters(layout, ports, kubeconfig('controller-manager')),
    },
    {
      name: 'kube-scheduler',
      program: bin('kube-scheduler'),
      parameters: [
        ...accessParameters(kubeconfig('scheduler')),
        '--leader-elect=false',
        '--bind-address=127.0.0.1',
        `--secure-port=${ports.scheduler}`,
      ],
    },
    { name: 'kubelet', program: bin('kubelet'), parameters: kubeletParameters(layout, node) },
    { name: 'kube-proxy', program: bin('kube-proxy'), parameters: [`--config=${configuration('proxy.yaml')}`] },
    { name: 'volume-provisioner', program: bin('volume-provisioner'), parameters: provisionerParameters(layout, node) },
  ];
}

/** The parameters of a node's kubelet. Pure. */
export function kubeletParameters(layout: Layout, { name, address }: NodeSettings): string[] {
  return [
    `--config=${join(layout.configuration, 'kubelet.yaml')}`,
    `--kubeconfig=${join(layout.configuration, 'node.kubeconfig')}`,
    `--root-dir=${join(layout.data, 'kubelet')}`,
    `--cert-dir=${join(layout.data, 'kubelet-pki')}`,
    `--node-ip=${address}`,
    `--hostname-override=${name}`,
  ];
}

/** The parameters of the provisioner of a node's volumes. Pure. */
export function provisionerParameters(layout: Layout, { name }: NodeSettings): string[] {
  return [
    `--kubeconfig=${join(layout.configuration, 'volume-provisioner.kubeconfig')}`,
    `--directory=${join(layout.data, 'volumes')}`,
    `--node=${name}`,
  ];
}

function etcdParameters(layout: Layout, ports: Ports): string[] {
  const client = `https://127.0.0.1:${ports.etcd}`;
  const peer = `https://127.0.0.1:${ports.etcdPeer}`;
  const tls = (prefix: string): string[] => [
    `--${prefix}cert-file=${join(layout.pki, 'etcd.crt')}`,
    `--${prefix}key-file=${join(layout.pki, 'etcd.key')}`,
    `--${prefix}trusted-ca-file=${join(layout.pki, 'ca.crt')}`,
    `--${prefix}client-cert-auth=true`,
  ];
  return [
    '--name=testcluster',
    `--data-dir=${join(layout.data, 'etcd')}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=testcluster=${peer}`,
    ...tls(''),
    ...tls('peer-'),
    // The data is deleted with the cluster, so it need not be synced to disk.
    '--unsafe-no-fsync',
    '--log-level=warn',
  ];
}

function apiServerParameters(layout: Layout, ports: Ports): string[] {
  const pki = (name: string): string => join(layout.pki, name);
  return [
    `--etcd-servers=https://127.0.0.1:${ports.etcd}`,
    `--etcd-cafile=${pki('ca.crt')}`,
    `--etcd-certfile=${pki('etcd.crt')}`,
    `--etcd-keyfile=${pki('etcd.key')}`,
    // Pods use the node's address, the machine 127.0.0.1. The firewall blocks all others.
    '--bind-address=0.0.0.0',
    `--secure-port=${ports.apiServer}`,
    `--advertise-address=${node.address}`,
    `--tls-cert-file=${pki('apiserver.crt')}`,
    `--tls-private-key-file=${pki('apiserver.key')}`,
    `--client-ca-file=${pki('ca.crt')}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--allow-privileged=true',
    '--profiling=false',
    // For aggregated API servers. Without these parameters, the controllers log errors.
    `--requestheader-client-ca-file=${pki('front-proxy-ca.crt')}`,
    '--requestheader-allowed-names=front-proxy',
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${pki('front-proxy.crt')}`,
    `--proxy-client-key-file=${pki('front-proxy.key')}`,
    `--service-cluster-ip-range=${network.serviceRange}`,
    // How long pods stay on a node that is lost; the default is 5 min.
    `--default-unreachable-toleration-seconds=${lostNodeTolerationSeconds}`,
    `--service-account-issuer=${tokenIssuer}`,
    `--api-audiences=${tokenIssuer},https://kubernetes.default.svc`,
    `--service-account-key-file=${pki('service-accounts.pub')}`,
    `--service-account-signing-key-file=${pki('service-accounts.key')}`,
    `--kubelet-certificate-authority=${pki('ca.crt')}`,
    '--kubelet-preferred-address-types=InternalIP',
    `--kubelet-client-certificate=${pki('apiserver-kubelet-client.crt')}`,
    `--kubelet-client-key=${pki('apiserver-kubelet-client.key')}`,
  ];
}

function controllerManagerParameters(layout: Layout, ports: Ports, kubeconfig: string): string[] {
  const pki = (name: string): string => join(layout.pki, name);
  return [
    ...accessParameters(kubeconfig),
    '--leader-elect=false',
    '--bind-address=127.0.0.1',
    `--secure-port=${ports.controllerManager}`,
    '--use-service-account-credentials',
    `--service-account-private-key-file=${pki('service-accounts.key')}`,
    // On a busy machine the default of 50 s could mark the only node as lost, which removes all pods from the endpoints.
    '--node-monitor-grace-period=5m',
    // The default of 20 requests a second holds up rollouts of hundreds of apps, which is not the platform's doing.
    '--kube-api-qps=100',
    '--kube-api-burst=200',
    `--root-ca-file=${pki('ca.crt')}`,
    `--client-ca-file=${pki('ca.crt')}`,
    '--allocate-node-cidrs=false',
    `--flex-volume-plugin-dir=${join(layout.data, 'volume-plugins')}`,
    `--cluster-signing-cert-file=${pki('ca.crt')}`,
    `--cluster-signing-key-file=${pki('ca.key')}`,
  ];
}

function accessParameters(kubeconfig: string): string[] {
  return ['kubeconfig', 'authentication-kubeconfig', 'authorization-kubeconfig'].map(
    (name) => `--${name}=${kubeconfig}`,
  );
}
