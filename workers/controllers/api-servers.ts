import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';

/** The API server's own addresses. https://kubernetes.io/docs/concepts/services-networking/service/#default-hosted-service */
export const apiServerEndpoints = { namespace: 'default', labelSelector: 'kubernetes.io/service-name=kubernetes' };

interface EndpointSlice extends KubeObject {
  endpoints?: { addresses: string[] }[];
}

/** Where the Kubernetes API answers, which no pod of an environment or a build may reach. */
export async function apiServerAddresses(kube: Pick<KubeClient, 'list'>): Promise<string[]> {
  const { items } = await kube.list<EndpointSlice>(kinds.EndpointSlice, apiServerEndpoints);
  const addresses = items.flatMap(({ endpoints = [] }) => endpoints.flatMap((endpoint) => endpoint.addresses));
  return [...new Set(addresses)].sort();
}
