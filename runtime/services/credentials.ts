import type { ServiceCredentials } from '../contracts/api/services.ts';
import type { Stored } from '../contracts/kubernetes.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import { credentialFields, credentialsName, type ServiceResource } from '../contracts/resources/service.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { isOwned, type Secret } from '../workloads/owned-secret.ts';

/** The credentials as the data of a Secret. Pure. */
export function credentialsData(credentials: ServiceCredentials): Record<string, string> {
  return Object.fromEntries(
    Object.entries(credentials).flatMap(([field, value]) =>
      value === undefined ? [] : [[field, Buffer.from(value).toString('base64')]],
    ),
  );
}

/** Reads a service's credentials; undefined while they do not exist, and where the Secret of that name is not the service's. */
export async function readCredentials(
  kube: Pick<KubeClient, 'get'>,
  service: Stored<ServiceResource>,
): Promise<ServiceCredentials | undefined> {
  const { name, namespace } = service.metadata;
  const secret = await kube.get<Secret>(kinds.Secret, credentialsName(name), namespace);
  if (!secret || !isOwned(secret, service)) return undefined;
  const entries = credentialFields[service.spec.type].flatMap((field) => {
    const value = secret.data?.[field];
    return value === undefined ? [] : [[field, Buffer.from(value, 'base64').toString('utf8')]];
  });
  return Object.fromEntries(entries) as ServiceCredentials;
}
