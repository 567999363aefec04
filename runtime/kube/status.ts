import { isDeepStrictEqual } from 'node:util';
import type { KubeObject, Stored } from '../contracts/kubernetes.ts';
import type { KubeClient } from './kube-client.ts';

/**
 * Writes an object's status, and nothing when it says so already. Only over the very version that the status was derived
 * from: whoever changed the object meanwhile brings another pass.
 * @returns the object with its status @throws KubeError 409
 */
export async function writeStatus<T extends KubeObject>(
  kube: Pick<KubeClient, 'replaceStatus'>,
  object: Stored<T>,
  status: T['status'],
): Promise<Stored<T>> {
  // Fields that are undefined are not sent, so they do not count.
  const plain = JSON.parse(JSON.stringify(status ?? {})) as T['status'];
  if (isDeepStrictEqual(object.status ?? {}, plain)) return object;
  return kube.replaceStatus({ ...object, status: plain });
}
