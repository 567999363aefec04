import type { KubeObject, Stored } from '../contracts/kubernetes.ts';
import type { KubeClient } from './kube-client.ts';

/** Adds the finalizer and labels if they are missing. @throws KubeError 409 when the object was changed meanwhile */
export async function ensureMarks<T extends KubeObject>(
  kube: Pick<KubeClient, 'replace'>,
  object: Stored<T>,
  finalizer: string,
  labels: Record<string, string>,
): Promise<Stored<T>> {
  const { finalizers = [], labels: present = {} } = object.metadata;
  const missing = Object.entries(labels).some(([name, value]) => present[name] !== value);
  if (finalizers.includes(finalizer) && !missing) return object;
  const metadata = {
    ...object.metadata,
    finalizers: [...new Set([...finalizers, finalizer])],
    labels: { ...present, ...labels },
  };
  return kube.replace({ ...object, metadata });
}

/** Removes the finalizer, so that a deleted object is removed. @throws KubeError 409 when it was changed meanwhile */
export async function removeFinalizer(
  kube: Pick<KubeClient, 'replace'>,
  object: Stored<KubeObject>,
  finalizer: string,
): Promise<void> {
  const { finalizers = [] } = object.metadata;
  if (!finalizers.includes(finalizer)) return;
  const remaining = finalizers.filter((name) => name !== finalizer);
  await kube.replace({ ...object, metadata: { ...object.metadata, finalizers: remaining } });
}
