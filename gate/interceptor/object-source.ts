import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';

/** The part of an informer that the interceptor uses. */
export interface ObjectSource<T extends KubeObject> {
  list(): Stored<T>[];
  /**
   * Calls the listener on every change from now on.
   * @returns a function that unsubscribes
   */
  onChange(
    listener: (event: { type: 'added' | 'modified' | 'deleted'; object: Stored<T>; previous?: Stored<T> }) => void,
  ): () => void;
}
