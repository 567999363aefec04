import type { ServiceCredentials } from '../contracts/api/services.ts';
import type { Stored } from '../contracts/kubernetes.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import { credentialFields, credentialsName, type ServiceResource } from '../contracts/resources/service.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { isOwned, type Secret } from './owned-secret.ts';

/** The data of that Secret. Pure. */
export function credentialsData(credentials: ServiceCredentials): Record<string, string> {
  return Object.fromEntries(
    Object.entries(credentials).flatMap(([field, value]) =>
      value === undefined ? [] : [[field, Buffer.from(value).toString('base64')]],
    ),
  );
}

/** The way into a service; undefined while there is none, and where the Secret of that name is not this service's. */
export async function readCredentials(
  kube: Pick<KubeClient, 'get'>,
  service: Stored<ServiceResource>,
): Promise<ServiceCredentials | undefined> {
  const { name, namespace } = service.metadata;
  const found = await kube.get<Secret>(kinds.Secret, credentialsName(name), namespace);
  if (!found || !isOwned(found, service)) return undefined;
  const entries = credentialFields[service.spec.type].flatMap((field) => {
    const value = found.data?.[field];
    return value === undefined ? [] : [[field, Buffer.from(value, 'base64').toString('utf8')]];
  });
  return Object.fromEntries(entries) as ServiceCredentials;
}
