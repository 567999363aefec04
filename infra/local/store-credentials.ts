import { randomBytes } from 'node:crypto';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { buildNamespace, managedLabels } from '../../runtime/domain/labels.ts';
import { basicCredentials } from '../../runtime/domain/registry-credentials.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { readSecretText } from '../../runtime/kube/secret-text.ts';
import { registryFileKey as key, registrySecrets } from '../manifests/build.ts';

const namespace = buildNamespace;

/** What credentials of the image store allow. */
type Use = 'push' | 'delete';

const users = { push: 'builder', delete: 'cleaner' } as const;

/**
 * Creates the Secrets with the credentials for image uploads and for deletions unless they exist for this address
 * (`host:port`).
 */
export async function ensureStoreCredentials(
  kube: Pick<KubeClient, 'get' | 'create' | 'delete'>,
  address: string,
): Promise<void> {
  for (const use of ['push', 'delete'] as const) {
    if ((await readStoreCredentials(kube, use, address)) !== undefined) continue;
    const name = registrySecrets[use];
    const auth = Buffer.from(`${users[use]}:${randomBytes(32).toString('base64url')}`).toString('base64');
    const data = { [key]: Buffer.from(JSON.stringify({ auths: { [address]: { auth } } })).toString('base64') };
    const metadata = { name, namespace, labels: managedLabels() };
    // The ports changed; a Secret's type cannot.
    await kube.delete({ ...kinds.Secret, namespace, name });
    await kube.create({ apiVersion: 'v1', kind: 'Secret', metadata, type: 'kubernetes.io/dockerconfigjson', data });
  }
}

/** What a request's `Authorization: Basic` must carry; undefined while no credentials exist for this address. */
export async function readStoreCredentials(
  kube: Pick<KubeClient, 'get'>,
  use: Use,
  address: string,
): Promise<string | undefined> {
  const file = await readSecretText(kube, { namespace, name: registrySecrets[use], key });
  return file && basicCredentials(file, address);
}
