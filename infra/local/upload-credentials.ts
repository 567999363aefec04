import { randomBytes } from 'node:crypto';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { buildNamespace, managedLabels } from '../../runtime/domain/labels.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { basicCredentials } from '../images/builder/registry-credentials.ts';
import { registrySecrets } from '../manifests/build.ts';

const key = '.dockerconfigjson';
const namespace = buildNamespace;
const name = registrySecrets.push;

/** Creates the Secret with the credentials for image uploads unless it exists for this address (`host:port`). */
export async function ensureUploadCredentials(
  kube: Pick<KubeClient, 'get' | 'create' | 'delete'>,
  address: string,
): Promise<void> {
  if ((await readUploadCredentials(kube, address)) !== undefined) return;
  const auth = Buffer.from(`builder:${randomBytes(32).toString('base64url')}`).toString('base64');
  const data = { [key]: Buffer.from(JSON.stringify({ auths: { [address]: { auth } } })).toString('base64') };
  const metadata = { name, namespace, labels: managedLabels() };
  // The ports changed; a Secret's type cannot.
  await kube.delete({ ...kinds.Secret, namespace, name });
  await kube.create({ apiVersion: 'v1', kind: 'Secret', metadata, type: 'kubernetes.io/dockerconfigjson', data });
}

/** What a request's `Authorization: Basic` must carry; undefined while no credentials exist for this address. */
export async function readUploadCredentials(
  kube: Pick<KubeClient, 'get'>,
  address: string,
): Promise<string | undefined> {
  const secret = await kube.get<KubeObject & { data?: Record<string, string> }>(kinds.Secret, name, namespace);
  const file = Buffer.from(secret?.data?.[key] ?? '', 'base64').toString('utf8');
  return file === '' ? undefined : basicCredentials(file, address);
}
