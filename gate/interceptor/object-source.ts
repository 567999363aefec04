import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';

/** What the interceptor needs of an informer. */
export interface ObjectSource<T extends KubeObject> {
  list(): Stored<T>[];
  /** Calls the listener on every change from now on; the answer unsubscribes. */
  onChange(
    listener: (event: { type: 'added' | 'modified' | 'deleted'; object: Stored<T>; previous?: Stored<T> }) => void,
  ): () => void;
}
