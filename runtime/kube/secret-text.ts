import type { KubeObject } from '../contracts/kubernetes.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { KubeClient } from './kube-client.ts';

/** One value of a Secret. */
export interface SecretValue {
  namespace: string;
  name: string;
  key: string;
}

/** The value as text; undefined while there is no such Secret, or an empty value or none in it. */
export async function readSecretText(
  kube: Pick<KubeClient, 'get'>,
  { namespace, name, key }: SecretValue,
): Promise<string | undefined> {
  const secret = await kube.get<KubeObject & { data?: Record<string, string> }>(kinds.Secret, name, namespace);
  return Buffer.from(secret?.data?.[key] ?? '', 'base64').toString('utf8') || undefined;
}
