import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { ServiceResource } from '../../runtime/contracts/resources/service.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { Configurable } from '../../runtime/workloads/objects.ts';

export interface BindingLeftovers {
  /**
   * Whether users that bindings created on these services still have to be deleted, and not too many attempts failed.
   */
  hasBoundUsers(namespace: string, services: readonly string[]): Promise<boolean>;
}

/**
 * Deletes the users that workloads of an environment have on its external services, before the environment is deleted
 * with the credentials that this needs. A server that refuses does not block the deletion forever.
 * @returns whether users remain to be deleted
 */
export async function removeBoundUsers(
  kube: Pick<KubeClient, 'list' | 'delete'>,
  records: BindingLeftovers,
  namespace: string,
): Promise<boolean> {
  const services = await kube.list<ServiceResource>(kinds.ServiceResource, { namespace });
  const external = new Set(services.items.filter(({ spec }) => spec.external).map(({ metadata }) => metadata.name));
  if (external.size === 0) return false;
  const lists = await Promise.all(
    [kinds.App, kinds.Function, kinds.Job].map((kind) => kube.list<Configurable>(kind, { namespace })),
  );
  const bound = lists
    .flatMap(({ items }) => items)
    .filter(({ spec, status }) =>
      [...(spec.bindings ?? []), ...(status?.bindings ?? [])].some(({ service }) => external.has(service)),
    );
  for (const { apiVersion, kind, metadata } of bound) {
    if (metadata.deletionTimestamp !== undefined) continue;
    const { name, uid } = metadata;
    await kube.delete({ apiVersion, kind, namespace, name }, { preconditions: { uid } });
  }
  return bound.length > 0 || records.hasBoundUsers(namespace, [...external]);
}
