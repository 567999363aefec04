import type { V1EndpointSlice } from '@kubernetes/client-node';
import type { BuiltIn } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';

/** The API server's own addresses. https://kubernetes.io/docs/concepts/services-networking/service/#default-hosted-service */
export const apiServerEndpoints = { namespace: 'default', labelSelector: 'kubernetes.io/service-name=kubernetes' };

/** The addresses of the Kubernetes API server. Pods of environments and builds may not reach them. */
export async function apiServerAddresses(kube: Pick<KubeClient, 'list'>): Promise<string[]> {
  const { items } = await kube.list<BuiltIn<V1EndpointSlice>>(kinds.EndpointSlice, apiServerEndpoints);
  const addresses = items.flatMap(({ endpoints = [] }) => endpoints.flatMap((endpoint) => endpoint.addresses));
  return [...new Set(addresses)].sort();
}
