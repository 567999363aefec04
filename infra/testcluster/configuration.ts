import { join } from 'node:path';
import type { Layout, NodeSettings } from './settings.ts';
import { network, node, ports } from './settings.ts';

/** The kubelet's default folder of pods' logs. */
const podLogs = '/var/log/pods';

/** Image of the first process of every pod. */
export const pauseImage = 'docker.io/testcluster/pause:1';

/** Properties of the machine that the configuration depends on. */
export interface Machine {
  /** The resolv.conf of pods with `dnsPolicy: Default`, such as CoreDNS. */
  readonly resolverFile: string;
  /** Whether packets between two ports of a bridge pass iptables. */
  readonly bridgeTrafficFiltered: boolean;
}

/** One file that a component reads. */
export interface ConfigurationFile {
  /** Path under the layout's `configuration` folder. */
  readonly path: string;
  readonly text: string;
}

/** What the nodes' configurations differ in, apart from their layouts. */
export interface NodeConfiguration extends NodeSettings {
  /** The names of the kubelet's certificate. */
  readonly certificate: string;
  /** The host by which the node reaches the registry. */
  readonly registryHost: string;
  /** The control group of the node's pods; default the root. */
  readonly controlGroup?: string;
}

/** Every configuration file of the cluster with its first node. Pure. */
export function configurationFiles(layout: Layout, machine: Machine): ConfigurationFile[] {
  return [
    ...nodeConfigurationFiles(layout, machine, { ...node, certificate: 'kubelet', registryHost: 'localhost' }),
    { path: 'registry.yaml', text: json(registryConfiguration(layout)) },
  ];
}

/** The configuration files of one node. Pure. */
export function nodeConfigurationFiles(
  layout: Layout,
  machine: Machine,
  settings: NodeConfiguration,
): ConfigurationFile[] {
  const registry = registryHosts(settings.registryHost);
  return [
    { path: 'containerd.toml', text: containerdConfiguration(layout) },
    { path: 'cni/10-pods.conflist', text: json(podNetwork(layout, settings)) },
    { path: 'registries/_default/hosts.toml', text: registry },
    { path: `registries/localhost:${ports.registry}/hosts.toml`, text: registry },
    { path: 'kubelet.yaml', text: json(kubeletConfiguration(layout, machine, settings)) },
    { path: 'proxy.yaml', text: json(proxyConfiguration(layout, machine, settings)) },
  ];
}

/** JSON is valid YAML and needs no special quoting. */
function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

// This registry answers for all registries: an image that it does not have is "not found", and no request leaves the
// machine.
function registryHosts(host: string): string {
  return `server = "http://${host}:${ports.registry}"

[host."http://${host}:${ports.registry}"]
  capabilities = ["pull", "resolve"]
`;
}

function containerdConfiguration(layout: Layout): string {
  return `version = 2
root = "${join(layout.data, 'containerd')}"
state = "${join(layout.run, 'containerd')}"

[grpc]
  address = "${layout.containerdSocket}"

[plugins."io.containerd.internal.v1.opt"]
  path = "${join(layout.data, 'containerd-opt')}"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  # A machine that is itself a sandbox may forbid lowering the score, and then no pod starts.
  restrict_oom_score_adj = true
  # In the cluster's folder, so that they are removed with everything else.
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${join(layout.configuration, 'cni')}"

  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "${join(layout.configuration, 'registries')}"

  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      Root = "${join(layout.run, 'runc')}"
`;
}

function podNetwork(layout: Layout, { podRange, podGateway }: NodeSettings): object {
  const ranges = [[{ subnet: podRange, gateway: podGateway }]];
  const ipam = { type: 'host-local', dataDir: join(layout.run, 'addresses'), ranges, routes: [{ dst: '0.0.0.0/0' }] };
  const bridge = { type: 'bridge', bridge: network.podBridge, isGateway: true, ipMasq: false, hairpinMode: true, ipam };
  return { cniVersion: '0.4.0', name: network.cniName, plugins: [bridge] };
}

function registryConfiguration(layout: Layout): object {
  return {
    version: 0.1,
    log: { level: 'warn', accesslog: { disabled: true } },
    storage: {
      filesystem: { rootdirectory: join(layout.data, 'registry') },
      delete: { enabled: true },
      // A cache would still list blobs that garbage collection has removed.
      cache: { blobdescriptor: '' },
    },
    // Pods need this address, too. Firewall rules keep other machines out.
    http: { addr: `:${ports.registry}` },
  };
}

function kubeletConfiguration(layout: Layout, machine: Machine, settings: NodeConfiguration): object {
  const { address, certificate, controlGroup } = settings;
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address,
    port: ports.kubelet,
    readOnlyPort: 0,
    healthzBindAddress: '127.0.0.1',
    healthzPort: ports.kubeletHealth,
    tlsCertFile: join(layout.pki, `${certificate}.crt`),
    tlsPrivateKeyFile: join(layout.pki, `${certificate}.key`),
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true, cacheTTL: '10s' },
      x509: { clientCAFile: join(layout.pki, 'ca.crt') },
    },
    authorization: { mode: 'Webhook' },
    containerRuntimeEndpoint: `unix://${layout.containerdSocket}`,
    clusterDNS: [network.dnsService],
    clusterDomain: network.domain,
    resolvConf: machine.resolverFile,
    // Where the log shipper mounts it.
    podLogsDir: podLogs,
    volumePluginDir: join(layout.data, 'volume-plugins'),
    cgroupDriver: 'cgroupfs',
    ...(controlGroup !== undefined && { cgroupRoot: controlGroup }),
    failCgroupV1: false,
    failSwapOn: false,
    oomScoreAdj: 0,
    enforceNodeAllocatable: [],
    maxPods: 200,
    // A third of the default: the tests of lost nodes shorten the time after which a node counts as lost.
    nodeLeaseDurationSeconds: 12,
    serializeImagePulls: false,
    // Only a machine that is nearly out of memory may evict a pod. Images are few and are removed with the cluster.
    evictionHard: { 'memory.available': '50Mi' },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    shutdownGracePeriod: '0s',
  };
}

function proxyConfiguration(layout: Layout, machine: Machine, settings: NodeSettings): object {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    clientConnection: { kubeconfig: join(layout.configuration, 'proxy.kubeconfig') },
    hostnameOverride: settings.name,
    bindAddress: settings.address,
    healthzBindAddress: `127.0.0.1:${ports.proxyHealth}`,
    metricsBindAddress: `127.0.0.1:${ports.proxyMetrics}`,
    mode: 'iptables',
    clusterCIDR: network.podRange,
    detectLocalMode: 'ClusterCIDR',
    nodePortAddresses: ['primary'],
    oomScoreAdj: 0,
    iptables: {
      // Without that filter, an answer from pod to pod would take the direct path and arrive from the wrong address.
      masqueradeAll: !machine.bridgeTrafficFiltered,
      localhostNodePorts: false,
      syncPeriod: '30s',
      minSyncPeriod: '100ms',
    },
    // 0 leaves the machine's own connection-tracking limits alone.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  };
}
