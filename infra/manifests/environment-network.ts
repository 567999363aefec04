import { isIP } from 'node:net';
import type {
  V1LabelSelector,
  V1NetworkPolicy,
  V1NetworkPolicyEgressRule,
  V1NetworkPolicyPeer,
  V1NetworkPolicyPort,
} from '@kubernetes/client-node';
import { eventsPort } from '../../runtime/contracts/event-exchange.ts';
import type { BuiltIn } from '../../runtime/contracts/kubernetes.ts';
import {
  appLabel,
  buildNamespace,
  environmentIdLabel,
  kindLabel,
  systemNamespace,
} from '../../runtime/domain/labels.ts';
import { warmPort } from '../../runtime/contracts/warm-start.ts';
import type { WorkloadKind } from '../../runtime/domain/names.ts';
import { networkContains } from '../../runtime/domain/network.ts';
import { specialNetworks } from '../../runtime/domain/special-addresses.ts';
import { environmentObjectName } from './environment.ts';

/** https://kubernetes.io/docs/reference/kubernetes-api/policy-resources/network-policy-v1/ */
export type NetworkPolicy = BuiltIn<V1NetworkPolicy, 'spec'>;

const dnsPorts: V1NetworkPolicyPort[] = [
  { protocol: 'UDP', port: 53 },
  { protocol: 'TCP', port: 53 },
];

/** The address of the cluster's DNS cache on each node, if it has one. https://kubernetes.io/docs/tasks/administer-cluster/nodelocaldns/ */
const nodeDns = '169.254.20.10/32';

const dns = {
  to: [{ namespaceSelector: namespaceNamed('kube-system') }, { ipBlock: { cidr: nodeDns } }],
  ports: dnsPorts,
};

export interface EnvironmentNetwork {
  namespace: string;
  /** The namespace of the ingress. When undefined, pods of every namespace that is no environment may connect. */
  ingressNamespace: string | undefined;
  /** Addresses of the Kubernetes API, which may be public. */
  apiServers: readonly string[];
  /** Private networks that the pods may reach in addition to the internet. */
  allowPrivateNetworks: readonly string[];
}

/** Selects the pods of an environment that belong to no workload of these kinds. */
function podsExcept(...kinds: WorkloadKind[]): V1LabelSelector {
  return { matchExpressions: [{ key: kindLabel, operator: 'NotIn', values: kinds }] };
}

/** The pods of these processes of the platform. */
function platform(...processes: string[]): V1NetworkPolicyPeer {
  return {
    namespaceSelector: namespaceNamed(systemNamespace),
    podSelector: { matchExpressions: [{ key: appLabel, operator: 'In', values: processes }] },
  };
}

/**
 * The policy of all pods of an environment except those of functions. They accept connections from each other, the ingress
 * and processes of the platform, and may connect to each other, DNS, the ingress and the internet. They cannot reach other
 * environments, the Kubernetes API or the platform's stores. It takes effect where the cluster's network enforces policies,
 * as k3s does. Pure.
 */
export function environmentPolicy(network: EnvironmentNetwork): NetworkPolicy {
  const own: V1NetworkPolicyPeer = { podSelector: {} };
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: environmentObjectName, namespace: network.namespace },
    spec: {
      podSelector: podsExcept('Function'),
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        {
          from: [
            own,
            platform('console-api', 'svc-controllers', 'svc-interceptor', 'svc-workers'),
            { namespaceSelector: ingressOf(network) },
          ],
        },
      ],
      egress: [{ to: [own] }, ...outside(network)],
    },
  };
}

/**
 * The policy of the pods of functions. They accept connections from the interceptors, and may connect to the pods that
 * other pods of the environment may connect to, except services and other functions. `boundServicesPolicy` adds the services
 * that a function is bound to (decision 0025). Pure.
 */
export function functionsPolicy(network: EnvironmentNetwork): NetworkPolicy {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: `${environmentObjectName}-functions`, namespace: network.namespace },
    spec: {
      podSelector: { matchLabels: { [kindLabel]: 'Function' satisfies WorkloadKind } },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        { from: [platform('svc-interceptor')] },
        // To start a function in a generic pod; other pods do not listen there (decision 0098).
        { from: [platform('svc-controllers')], ports: [{ protocol: 'TCP', port: warmPort }] },
      ],
      egress: [
        { to: [{ podSelector: podsExcept('Function', 'Service') }] },
        // Sidecars fetch events from it; a token identifies them.
        { to: [platform('console-api')], ports: [{ protocol: 'TCP', port: eventsPort }] },
        ...outside(network),
      ],
    },
  };
}

/** Lets the servers of an environment's services send events to the platform. Pure. */
export function servicesPolicy({ namespace }: Pick<EnvironmentNetwork, 'namespace'>): NetworkPolicy {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: `${environmentObjectName}-services`, namespace },
    spec: {
      podSelector: { matchLabels: { [kindLabel]: 'Service' satisfies WorkloadKind } },
      policyTypes: ['Egress'],
      ingress: [],
      egress: [{ to: [platform('console-api')], ports: [{ protocol: 'TCP', port: eventsPort }] }],
    },
  };
}

/** The destinations outside the environment that its pods may connect to. */
function outside(network: EnvironmentNetwork): V1NetworkPolicyEgressRule[] {
  const { apiServers, allowPrivateNetworks } = network;
  const traefik: V1LabelSelector = { matchLabels: { 'app.kubernetes.io/name': 'traefik' } };
  return [
    dns,
    // For requests to the platform's own public hosts, which may resolve to an address inside the cluster.
    { to: [{ namespaceSelector: ingressOf(network), podSelector: traefik }] },
    { to: [...internet(apiServers), ...allowPrivateNetworks.flatMap((cidr) => privatePeer(cidr, apiServers))] },
  ];
}

function ingressOf({ ingressNamespace }: EnvironmentNetwork): V1LabelSelector {
  return ingressNamespace === undefined
    ? { matchExpressions: [{ key: environmentIdLabel, operator: 'DoesNotExist' }] }
    : namespaceNamed(ingressNamespace);
}

/**
 * The policy of build pods. They accept no connections, and may connect to DNS, the internet, the private networks that
 * other pods may reach, and the registry that stores their images. They cannot reach apps, the platform's stores or the
 * Kubernetes API. Pure.
 * @param options.registryAddress where images are pushed to, such as `http://10.0.0.5:5000`
 */
export function buildPolicy({
  apiServers,
  allowPrivateNetworks,
  registryAddress,
}: Pick<EnvironmentNetwork, 'apiServers' | 'allowPrivateNetworks'> & {
  registryAddress: string | undefined;
}): NetworkPolicy {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: environmentObjectName, namespace: buildNamespace },
    spec: {
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
      ingress: [],
      egress: [
        dns,
        { to: [...internet(apiServers), ...allowPrivateNetworks.flatMap((cidr) => privatePeer(cidr, apiServers))] },
        // Uploaded files, for which only the first step has a token.
        { to: [platform('console-api')], ports: [{ protocol: 'TCP', port: eventsPort }] },
        ...registryRule(registryAddress),
      ],
    },
  };
}

/** A registry on the internet needs no rule. */
function registryRule(address: string | undefined): V1NetworkPolicyEgressRule[] {
  if (address === undefined) return [];
  const { hostname, port, protocol } = new URL(address);
  const ports: V1NetworkPolicyPort[] = [{ protocol: 'TCP', port: Number(port || (protocol === 'http:' ? 80 : 443)) }];
  const namespace = namespaceInAddress(address);
  // No port is named: a Service may forward to another port of its pods.
  if (namespace !== undefined) return [{ to: [{ namespaceSelector: namespaceNamed(namespace) }] }];
  const host = hostname.replace(/^\[|\]$/g, '');
  const family = isIP(host);
  return family === 0 ? [] : [{ to: [{ ipBlock: { cidr: `${host}/${family === 4 ? 32 : 128}` } }], ports }];
}

/**
 * The internet without the addresses of the Kubernetes API: not private networks, which hold nodes, pods, Services and the
 * platform's stores, and not where clouds serve the credentials of their machines.
 */
function internet(apiServers: readonly string[]): V1NetworkPolicyPeer[] {
  const [v6, v4] = [
    apiServers.filter((address) => address.includes(':')),
    apiServers.filter((address) => !address.includes(':')),
  ];
  return [
    {
      ipBlock: { cidr: '0.0.0.0/0', except: [...specialNetworks.ipv4, ...v4.map((address) => `${address}/32`)].sort() },
    },
    { ipBlock: { cidr: '::/0', except: [...specialNetworks.ipv6, ...v6.map((address) => `${address}/128`)].sort() } },
  ];
}

/** A private network without the addresses of the Kubernetes API; empty when nothing else is in it. */
function privatePeer(cidr: string, apiServers: readonly string[]): V1NetworkPolicyPeer[] {
  const except = apiServers
    .map((address) => `${address}/${address.includes(':') ? 128 : 32}`)
    .filter((address) => networkContains(cidr, address))
    .sort();
  // The API server refuses an exception that covers the whole network.
  if (except.includes(cidr)) return [];
  return [{ ipBlock: { cidr, ...(except.length > 0 && { except }) } }];
}

/** The namespace in an in-cluster address such as `http://traefik.kube-system.svc:80`; undefined for any other address. Pure. */
export function namespaceInAddress(address: string | undefined): string | undefined {
  const host = address === undefined || !URL.canParse(address) ? '' : new URL(address).hostname;
  return /^[a-z0-9-]+\.([a-z0-9-]+)\.svc(\.|$)/.exec(host)?.[1];
}

function namespaceNamed(namespace: string): V1LabelSelector {
  return { matchLabels: { 'kubernetes.io/metadata.name': namespace } };
}
