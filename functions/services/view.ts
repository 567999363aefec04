import type { ServiceAccess, ServiceCredentials, ServiceView } from '../../runtime/contracts/api/services.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { defaultStorageSize, type ServiceResource } from '../../runtime/contracts/resources/service.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import type { Environment } from '../../runtime/kube/environments.ts';

/** A service as the API shows it. */
export function serviceToView(
  { metadata, spec, status }: Stored<ServiceResource>,
  { project, environment }: Pick<Environment, 'project' | 'environment'>,
): ServiceView {
  const { storage, external } = spec;
  return {
    // An object created with `kubectl` gets its id from its controller.
    id: metadata.labels?.[idLabel] ?? metadata.uid,
    name: metadata.name,
    project,
    environment,
    type: spec.type,
    external: external !== undefined,
    status: metadata.deletionTimestamp === undefined ? (status?.phase ?? 'pending') : 'deleting',
    ...(status?.message !== undefined && { message: status.message }),
    ...endpointOf(status),
    tls: external?.tls ?? false,
    ...(!external && { size: storage?.size ?? defaultStorageSize }),
    ...(storage?.storageClass !== undefined && { storageClass: storage.storageClass }),
    createdAt: metadata.creationTimestamp ?? new Date(0).toISOString(),
  };
}

/** A service's connection details and credentials. */
export function serviceToAccess(
  { metadata, spec, status }: Stored<ServiceResource>,
  credentials: ServiceCredentials,
): ServiceAccess {
  const { name } = metadata;
  return { name, type: spec.type, ...endpointOf(status), tls: spec.external?.tls ?? false, ...credentials };
}

function endpointOf(status: ServiceResource['status']): { host?: string; port?: number } {
  return {
    ...(status?.host !== undefined && { host: status.host }),
    ...(status?.port !== undefined && { port: status.port }),
  };
}
