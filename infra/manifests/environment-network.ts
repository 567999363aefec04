import { isIP } from 'node:net';
import { eventsPort } from '../../runtime/contracts/event-exchange.ts';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import {
  appLabel,
  buildNamespace,
  environmentIdLabel,
  kindLabel,
  systemNamespace,
} from '../../runtime/domain/labels.ts';
import type { WorkloadKind } from '../../runtime/domain/names.ts';
import { networkContains } from '../../runtime/domain/network.ts';
import { environmentObjectName } from './environment.ts';

/** https://kubernetes.io/docs/reference/kubernetes-api/policy-resources/network-policy-v1/ */
export interface NetworkPolicy extends KubeObject {
  apiVersion: 'networking.k8s.io/v1';
  kind: 'NetworkPolicy';
  spec: {
    podSelector: Selector;
    policyTypes: ('Ingress' | 'Egress')[];
    ingress: { from: Peer[]; ports?: Port[] }[];
    egress: { to: Peer[]; ports?: Port[] }[];
  };
}

export interface Selector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'; values?: string[] }[];
}

export interface Peer {
  namespaceSelector?: Selector;
  podSelector?: Selector;
  ipBlock?: { cidr: string; except?: string[] };
}

export interface Port {
  protocol: 'TCP' | 'UDP';
  port: number;
}

const dnsPorts: Port[] = [
  { protocol: 'UDP', port: 53 },
  { protocol: 'TCP', port: 53 },
];

/**
 * Addresses that are not the internet: private networks, where nodes, pods, Services and the platform's stores live, and
 * link-local ones, where clouds keep their machines' credentials.
 * https://www.iana.org/assignments/iana-ipv4-special-registry https://www.iana.org/assignments/iana-ipv6-special-registry
 */
const notInternet = {
  v4: ['10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16'],
  v6: ['::1/128', 'fc00::/7', 'fe80::/10'],
};

/** Where the cluster's DNS cache listens on each node, if it has one. https://kubernetes.io/docs/tasks/administer-cluster/nodelocaldns/ */
const nodeDns = '169.254.20.10/32';

const dns = { to: [{ namespaceSelector: named('kube-system') }, { ipBlock: { cidr: nodeDns } }], ports: dnsPorts };

export interface EnvironmentNetwork {
  namespace: string;
  /** Where the ingress runs; undefined when nobody has said: then every namespace that is no environment may come in. */
  ingressNamespace: string | undefined;
  /** Addresses of the Kubernetes API, which may be public ones. */
  apiServers: readonly string[];
  /** Private networks that its pods may reach, beside the internet. */
  allowPrivateNetworks: readonly string[];
}

/** Pods of an environment by the kinds of the workloads that they are not of; those of no workload are among them. */
function otherThan(...kinds: WorkloadKind[]): Selector {
  return { matchExpressions: [{ key: kindLabel, operator: 'NotIn', values: kinds }] };
}

/** Processes of the platform. */
function platform(...processes: string[]): Peer {
  return {
    namespaceSelector: named(systemNamespace),
    podSelector: { matchExpressions: [{ key: appLabel, operator: 'In', values: processes }] },
  };
}

/**
 * Who may talk with the pods of an environment but those of functions: themselves with each other, the ingress and the
 * platform's own processes with them, and they with DNS, the ingress and the internet. So they reach neither other
 * environments nor the Kubernetes API nor the platform's stores. Effective where the cluster's network enforces policies
 * (k3s does). Pure.
 */
export function environmentPolicy(network: EnvironmentNetwork): NetworkPolicy {
  const own: Peer = { podSelector: {} };
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: environmentObjectName, namespace: network.namespace },
    spec: {
      podSelector: otherThan('Function'),
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        {
          from: [
            own,
            platform('svc-controllers', 'svc-interceptor', 'svc-workers'),
            { namespaceSelector: ingressOf(network) },
          ],
        },
      ],
      egress: [{ to: [own] }, ...outside(network)],
    },
  };
}

/**
 * Who may talk with the pods of an environment's functions: the interceptors, through which every request comes, and they
 * with what the environment's other pods may talk with, but with no service and no other function. What a function is
 * bound to `boundServicesPolicy` opens (decision 0025). Pure.
 */
export function functionsPolicy(network: EnvironmentNetwork): NetworkPolicy {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: `${environmentObjectName}-functions`, namespace: network.namespace },
    spec: {
      podSelector: { matchLabels: { [kindLabel]: 'Function' satisfies WorkloadKind } },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [platform('svc-interceptor')] }],
      egress: [
        { to: [{ podSelector: otherThan('Function', 'Service') }] },
        // Their sidecars get events there, and prove themselves by a token.
        { to: [platform('console-api')], ports: [{ protocol: 'TCP', port: eventsPort }] },
        ...outside(network),
      ],
    },
  };
}

/** Lets the servers of an environment's services tell the platform of what happens in them. Pure. */
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

/** What pods of an environment may reach beside each other. */
function outside(network: EnvironmentNetwork): NetworkPolicy['spec']['egress'] {
  const { apiServers, allowPrivateNetworks } = network;
  const traefik: Selector = { matchLabels: { 'app.kubernetes.io/name': 'traefik' } };
  return [
    dns,
    // Calls of public hosts of the platform itself, where these lead back into the cluster.
    { to: [{ namespaceSelector: ingressOf(network), podSelector: traefik }] },
    { to: [...internet(apiServers), ...allowPrivateNetworks.flatMap((cidr) => privatePeer(cidr, apiServers))] },
  ];
}

function ingressOf({ ingressNamespace }: EnvironmentNetwork): Selector {
  return ingressNamespace === undefined
    ? { matchExpressions: [{ key: environmentIdLabel, operator: 'DoesNotExist' }] }
    : named(ingressNamespace);
}

/**
 * Who may talk with the pods of builds: nobody, and they with DNS, the internet, the private networks that pods may reach,
 * and the registry that takes their images. So they reach no app, no store of the platform and not the Kubernetes API. Pure.
 * @param registryAddress where images are pushed to, such as `http://10.0.0.5:5000`
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
        ...registryRule(registryAddress),
      ],
    },
  };
}

/** A registry on the internet needs no rule of its own. */
function registryRule(address: string | undefined): NetworkPolicy['spec']['egress'] {
  if (address === undefined) return [];
  const { hostname, port, protocol } = new URL(address);
  const ports: Port[] = [{ protocol: 'TCP', port: Number(port || (protocol === 'http:' ? 80 : 443)) }];
  const namespace = namespaceInAddress(address);
  // A Service may pass to another port of its pods.
  if (namespace !== undefined) return [{ to: [{ namespaceSelector: named(namespace) }] }];
  const host = hostname.replace(/^\[|\]$/g, '');
  const family = isIP(host);
  return family === 0 ? [] : [{ to: [{ ipBlock: { cidr: `${host}/${family === 4 ? 32 : 128}` } }], ports }];
}

/** The internet without the addresses of the Kubernetes API. */
function internet(apiServers: readonly string[]): Peer[] {
  const [v6, v4] = [apiServers.filter((address) => address.includes(':')), apiServers.filter((a) => !a.includes(':'))];
  return [
    { ipBlock: { cidr: '0.0.0.0/0', except: [...notInternet.v4, ...v4.map((address) => `${address}/32`)].sort() } },
    { ipBlock: { cidr: '::/0', except: [...notInternet.v6, ...v6.map((address) => `${address}/128`)].sort() } },
  ];
}

/** The addresses of a private network but the Kubernetes API's; none for a network that is nothing else. */
function privatePeer(cidr: string, apiServers: readonly string[]): Peer[] {
  const except = apiServers
    .map((address) => `${address}/${address.includes(':') ? 128 : 32}`)
    .filter((address) => networkContains(cidr, address))
    .sort();
  // The API server takes only exceptions that leave something.
  if (except.includes(cidr)) return [];
  return [{ ipBlock: { cidr, ...(except.length > 0 && { except }) } }];
}

/** The namespace in an in-cluster address such as `http://traefik.kube-system.svc:80`; undefined where there is none. Pure. */
export function namespaceInAddress(address: string | undefined): string | undefined {
  const host = address === undefined || !URL.canParse(address) ? '' : new URL(address).hostname;
  return /^[a-z0-9-]+\.([a-z0-9-]+)\.svc(\.|$)/.exec(host)?.[1];
}

function named(namespace: string): Selector {
  return { matchLabels: { 'kubernetes.io/metadata.name': namespace } };
}
