import type { KubeObject, Stored } from '../contracts/kubernetes.ts';
import { Problem } from '../domain/problem.ts';
import { isKubeError } from '../kube/kube-client.ts';

/** Attempts before a request fails: more concurrent writers of one object are not people. */
const maxAttempts = 10;

/**
 * Changes an object based on its current state, and starts over when another writer was faster.
 * @param find reads the object again for each attempt @param change writes it with the version that was read
 * @throws Problem `conflict` after ten attempts, and whatever `find` and `change` throw
 */
export async function retryOnConflict<T extends KubeObject, Result>(
  find: () => Promise<Stored<T>>,
  change: (object: Stored<T>) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    const object = await find();
    try {
      return await change(object);
    } catch (error) {
      if (!isKubeError(error, 409)) throw error;
      if (attempt < maxAttempts) continue;
      const { kind, metadata } = object;
      const message = `The ${kind.toLowerCase()} "${metadata.name}" is being changed by other requests. Try again.`;
      throw new Problem('conflict', message, { cause: error });
    }
  }
}
