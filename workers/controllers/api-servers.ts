import type { V1EndpointSlice } from '@kubernetes/client-node';
import type { BuiltIn } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';

type EndpointSlice = BuiltIn<V1EndpointSlice>;

const serviceLabel = 'kubernetes.io/service-name';
const apiServerService = 'kubernetes';
/** The API server's own addresses. https://kubernetes.io/docs/concepts/services-networking/service/#default-hosted-service */
export const apiServerEndpoints = { namespace: 'default', labelSelector: `${serviceLabel}=${apiServerService}` };

/** The addresses of the Kubernetes API server. Pods of environments and builds may not reach them. */
export async function apiServerAddresses(kube: Pick<KubeClient, 'list' | 'cache'>): Promise<string[]> {
  const { namespace } = apiServerEndpoints;
  const slices =
    kube.cache?.list<EndpointSlice>(kinds.EndpointSlice, { [serviceLabel]: apiServerService }, namespace) ??
    (await kube.list<EndpointSlice>(kinds.EndpointSlice, apiServerEndpoints)).items;
  const addresses = slices.flatMap(({ endpoints = [] }) => endpoints.flatMap((endpoint) => endpoint.addresses));
  return [...new Set(addresses)].sort();
}
