import { createHash } from 'node:crypto';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kindLabel } from '../../runtime/domain/labels.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { MetricsTarget } from '../../runtime/metrics/metrics-store.ts';
import { workloadOf } from '../../runtime/metrics/workload-of.ts';

interface IngressRoute extends KubeObject {
  spec?: { routes?: { match?: string }[] };
}

/**
 * The apps of a namespace with the names of their services in Traefik's metrics. Traefik makes such a name from the
 * namespace, the route's name and a digest of its rule; the digest contains the public hosts, which only one app has, so no
 * two apps share a name, whatever their namespaces are called.
 */
export async function appsWithIngress(kube: Pick<KubeClient, 'list'>, namespace: string): Promise<MetricsTarget[]> {
  const { items } = await kube.list<IngressRoute>(kinds.IngressRoute, { namespace, labelSelector: `${kindLabel}=App` });
  return items.flatMap((route) => {
    const workload = workloadOf(route.metadata);
    return workload ? [{ ...workload, ingressServices: servicesOf(route) }] : [];
  });
}

/** The names of a route's services, one for each rule. Pure. */
export function servicesOf({ metadata: { namespace = '', name }, spec }: Stored<IngressRoute>): string[] {
  return (spec?.routes ?? []).map(({ match = '' }) => {
    const digest = createHash('sha256').update(match).digest('hex').slice(0, 20);
    return `${namespace}-${name}-${digest}@kubernetescrd`;
  });
}
