import type { V1NetworkPolicyPeer, V1NetworkPolicyPort } from '@kubernetes/client-node';
import type { NetworkPolicy } from '../../infra/manifests/environment-network.ts';
import { network } from '../../infra/testcluster/settings.ts';
import { selects } from './network-policy.ts';

/** A pod with an address of its own. */
interface PodAddress {
  namespace: string;
  labels: Record<string, string>;
  address: string;
}

/** What the rules are made of. */
export interface PolicyWorld {
  /** The labels of each namespace. */
  namespaces: ReadonlyMap<string, Record<string, string>>;
  pods: readonly PodAddress[];
  policies: readonly NetworkPolicy[];
}

/** Input of `ipset restore` and of `iptables-restore --noflush`. */
export interface PolicyRules {
  sets: string;
  rules: string;
}

type Direction = 'Egress' | 'Ingress';
const chainOf = (direction: Direction) => `${network.chain}-${direction.toUpperCase()}`;

/** The chain that packets enter; `testcluster down` removes it by its prefix, like the others. */
export const policyChain = `${network.chain}-POLICY`;
/** Every chain, each after those that lead to it. */
export const chains = [policyChain, chainOf('Egress'), chainOf('Ingress')];
/** What the names of all sets begin with. */
export const setPrefix = 'svc-policy-';

/**
 * Translates policies to rules of the kernel's packet filter, with the meaning that
 * https://kubernetes.io/docs/concepts/services-networking/network-policies/ gives them: a pod that policies select for a
 * direction has only the connections that one of them allows, and both ends must allow one. Answers of allowed connections
 * pass. Pods on the network of their node are not selected, and have no address here. The node itself reaches every pod, as
 * the kubelet must. IPv4 only. Pure.
 */
export function policyRules({ namespaces, pods, policies }: PolicyWorld): PolicyRules {
  const sets: string[] = [];
  const allowed: Record<Direction, string[]> = { Egress: [], Ingress: [] };
  const addSet = (type: 'hash:ip' | 'hash:net', members: readonly string[]): string => {
    const name = `${setPrefix}${sets.length}`;
    // A list is built aside and swapped in, so that no packet meets an incomplete one.
    const aside = `${name}-new`;
    const lines = [`create ${name} ${type} -exist`, `create ${aside} ${type} -exist`, `flush ${aside}`];
    lines.push(...[...new Set(members)].map((member) => `add ${aside} ${member}`), `swap ${aside} ${name}`);
    sets.push([...lines, `destroy ${aside}`].join('\n'));
    return name;
  };
  const selected = ({ metadata, spec }: NetworkPolicy) =>
    pods.filter(({ namespace, labels }) => namespace === metadata.namespace && selects(spec.podSelector ?? {}, labels));
  const peerSet = (peer: V1NetworkPolicyPeer, own: string | undefined): string | undefined => {
    if (peer.ipBlock)
      return peer.ipBlock.cidr.includes(':') ? undefined : addSet('hash:net', blockMembers(peer.ipBlock));
    const isHome = (namespace: string) =>
      peer.namespaceSelector ? selects(peer.namespaceSelector, namespaces.get(namespace) ?? {}) : namespace === own;
    const peers = pods.filter(({ namespace, labels }) => isHome(namespace) && selects(peer.podSelector ?? {}, labels));
    return addSet('hash:ip', addressesOf(peers));
  };

  for (const [direction, own, other] of [
    ['Egress', 'src', 'dst'],
    ['Ingress', 'dst', 'src'],
  ] as const) {
    const applicable = policies.filter(({ spec }) => spec.policyTypes?.includes(direction));
    const chain = chainOf(direction);
    for (const policy of applicable) {
      const subject = `-m set --match-set ${addSet('hash:ip', addressesOf(selected(policy)))} ${own}`;
      for (const { peers, ports } of rulesOf(policy, direction)) {
        const sources = peers?.map((peer) => peerSet(peer, policy.metadata.namespace)) ?? ['any'];
        for (const set of sources.filter((name) => name !== undefined)) {
          const match = set === 'any' ? '' : ` -m set --match-set ${set} ${other}`;
          for (const port of portMatches(ports))
            allowed[direction].push(`-A ${chain} ${subject}${match}${port} -j RETURN`);
        }
      }
    }
    const isolated = addSet('hash:ip', addressesOf(applicable.flatMap(selected)));
    allowed[direction].push(`-A ${chain} -m set --match-set ${isolated} ${own} -j DROP`);
  }
  const declared = chains.map((chain) => `:${chain} - [0:0]`);
  const entry = [
    `-A ${policyChain} -m conntrack --ctstate RELATED,ESTABLISHED -j RETURN`,
    `-A ${policyChain} -j ${chainOf('Egress')}`,
    `-A ${policyChain} -j ${chainOf('Ingress')}`,
  ];
  const lines = ['*filter', ...declared, ...entry, ...allowed.Egress, ...allowed.Ingress, 'COMMIT'];
  return { sets: `${sets.join('\n')}\n`, rules: `${lines.join('\n')}\n` };
}

function addressesOf(pods: readonly PodAddress[]): string[] {
  return pods.map(({ address }) => address);
}

/** A set has no network of all addresses, but takes its halves. */
function blockMembers({ cidr, except = [] }: { cidr: string; except?: string[] }): string[] {
  return [...(cidr === '0.0.0.0/0' ? ['0.0.0.0/1', '128.0.0.0/1'] : [cidr]), ...except.map((net) => `${net} nomatch`)];
}

function rulesOf(
  { spec }: NetworkPolicy,
  direction: Direction,
): { peers: V1NetworkPolicyPeer[] | undefined; ports: V1NetworkPolicyPort[] | undefined }[] {
  if (direction === 'Egress') return (spec.egress ?? []).map(({ to, ports }) => ({ peers: to, ports }));
  return (spec.ingress ?? []).map(({ from, ports }) => ({ peers: from, ports }));
}

function portMatches(ports: readonly V1NetworkPolicyPort[] | undefined): string[] {
  if (ports === undefined) return [''];
  return ports.map(({ protocol = 'TCP', port }) => ` -p ${protocol.toLowerCase()} --dport ${port}`);
}
