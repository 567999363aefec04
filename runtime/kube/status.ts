import { isDeepStrictEqual } from 'node:util';
import type { KubeObject, Stored } from '../contracts/kubernetes.ts';
import type { KubeClient } from './kube-client.ts';

/**
 * Writes an object's status if it differs. Fails when the object changed since it was read; that change causes another
 * reconcile.
 * @returns the object with its status @throws KubeError 409
 */
export async function writeStatus<T extends KubeObject>(
  kube: Pick<KubeClient, 'replaceStatus'>,
  object: Stored<T>,
  status: T['status'],
): Promise<Stored<T>> {
  // Undefined fields are not sent.
  const json = JSON.parse(JSON.stringify(status ?? {})) as T['status'];
  if (isDeepStrictEqual(object.status ?? {}, json)) return object;
  return kube.replaceStatus({ ...object, status: json });
}
