import { createHash, randomBytes } from 'node:crypto';
import { warmSecretName } from '../../infra/manifests/warm-pool.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { managedByLabel, managedByValue, managedLabels } from '../../runtime/domain/labels.ts';
import { deleteChild } from '../../runtime/kube/children.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import type { Secret } from '../../runtime/workloads/owned-secret.ts';

const field = 'token';

/** The token that starts functions in the generic pods of an environment; undefined before it has one. */
export async function readToken(kube: Pick<KubeClient, 'get'>, namespace: string): Promise<string | undefined> {
  const secret = await kube.get<Secret>(kinds.Secret, warmSecretName, namespace);
  if (secret?.metadata.labels?.[managedByLabel] !== managedByValue) return undefined;
  const token = Buffer.from(secret.data?.[field] ?? '', 'base64').toString();
  return token === '' ? undefined : token;
}

/** As {@link readToken}, and creates it if needed. @throws Error for a foreign Secret */
export async function ensureToken(
  kube: Pick<KubeClient, 'get' | 'create' | 'delete'>,
  namespace: string,
): Promise<string> {
  const existing = await readToken(kube, namespace);
  if (existing !== undefined) return existing;
  // A Secret of the platform without its token was changed by hand.
  await deleteToken(kube, namespace);
  const token = randomBytes(32).toString('base64url');
  try {
    await kube.create<Secret>({
      apiVersion: kinds.Secret.apiVersion,
      kind: kinds.Secret.kind,
      metadata: { name: warmSecretName, namespace, labels: managedLabels() },
      type: 'Opaque',
      data: { [field]: Buffer.from(token).toString('base64') },
    });
    return token;
  } catch (error) {
    if (!isKubeError(error, 409)) throw error;
    const other = await readToken(kube, namespace);
    if (other !== undefined) return other;
    const place = `Secret "${warmSecretName}" in ${namespace}`;
    throw new Error(
      `${place} was not created by the platform. Delete it or, if the platform created it, restore its label ${managedByLabel}=${managedByValue}.`,
      { cause: error },
    );
  }
}

/** Deletes the token of an environment, unless another program created the Secret. */
export async function deleteToken(kube: Pick<KubeClient, 'get' | 'delete'>, namespace: string): Promise<void> {
  const { apiVersion, kind } = kinds.Secret;
  await deleteChild(kube, undefined, { apiVersion, kind, name: warmSecretName, namespace });
}

/** What generic pods know of a token. Pure. */
export function digestOfToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
