import { BlockList, isIPv6 } from 'node:net';
import type { V1LabelSelector, V1NetworkPolicyPeer, V1NetworkPolicyPort } from '@kubernetes/client-node';
import type { NetworkPolicy } from '../../infra/manifests/environment-network.ts';

/** One end of a connection: a pod with its namespace, or an address outside the cluster's pods. */
export type End =
  { namespace: { name: string; labels: Record<string, string> }; labels: Record<string, string> } | { address: string };

export interface Flow {
  from: End;
  to: End;
  port: number;
  protocol?: 'TCP' | 'UDP';
}

/**
 * Whether policies allow a connection, as a cluster's network would enforce them
 * (https://kubernetes.io/docs/concepts/services-networking/network-policies/): a pod that no policy selects may use
 * every connection; a selected one only those that one of its policies allows. Both ends must allow it.
 */
export function passes(policies: readonly NetworkPolicy[], { from, to, port, protocol = 'TCP' }: Flow): boolean {
  const allowed = (end: End, other: End, type: 'Ingress' | 'Egress') => {
    const selecting = policies.filter(
      ({ metadata, spec }) =>
        'labels' in end &&
        metadata.namespace === end.namespace.name &&
        spec.policyTypes?.includes(type) &&
        selects(spec.podSelector ?? {}, end.labels),
    );
    if (selecting.length === 0) return true;
    return selecting.some(({ metadata, spec }) => {
      const rules =
        type === 'Ingress'
          ? (spec.ingress ?? []).map((rule) => ({ peers: rule.from, ports: rule.ports }))
          : (spec.egress ?? []).map((rule) => ({ peers: rule.to, ports: rule.ports }));
      return rules.some(
        ({ peers, ports }) =>
          hasPort(ports, port, protocol) &&
          (peers === undefined || peers.some((peer) => isPeer(peer, other, metadata.namespace))),
      );
    });
  };
  return allowed(from, to, 'Egress') && allowed(to, from, 'Ingress');
}

function hasPort(ports: readonly V1NetworkPolicyPort[] | undefined, port: number, protocol: string): boolean {
  return ports === undefined || ports.some((allowed) => allowed.port === port && allowed.protocol === protocol);
}

function isPeer(peer: V1NetworkPolicyPeer, end: End, ownNamespace: string | undefined): boolean {
  if (peer.ipBlock) {
    if (!('address' in end)) return false;
    const inside = (range: string) => {
      const [network = '', bits = ''] = range.split('/');
      const list = new BlockList();
      const family = isIPv6(network) ? 'ipv6' : 'ipv4';
      list.addSubnet(network, Number(bits), family);
      return isIPv6(end.address) === (family === 'ipv6') && list.check(end.address, family);
    };
    return inside(peer.ipBlock.cidr) && !(peer.ipBlock.except ?? []).some(inside);
  }
  if (!('labels' in end)) return false;
  const home = peer.namespaceSelector
    ? selects(peer.namespaceSelector, end.namespace.labels)
    : end.namespace.name === ownNamespace;
  return home && (peer.podSelector === undefined || selects(peer.podSelector, end.labels));
}

/** Whether a selector matches these labels. Pure. */
export function selects(
  { matchLabels = {}, matchExpressions = [] }: V1LabelSelector,
  labels: Record<string, string>,
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      if (operator === 'Exists') return key in labels;
      if (operator === 'DoesNotExist') return !(key in labels);
      return values.includes(labels[key] ?? '') === (operator === 'In');
    })
  );
}
