import {
  listObjects,
  ObjectStoreError,
  openObjectStore,
  type ListedObject,
  type ObjectStoreTarget,
} from '../../runtime/services/object-store.ts';
import { connectionFailure, SourceError } from './source.ts';

/** A bucket and how to list it. */
export interface BucketTarget extends ObjectStoreTarget {
  /** Of the function that reads it. */
  project: string;
  bucket: string;
  /** Objects in a page of the listing, default 1,000. */
  pageKeys?: number;
}

/** The objects of a bucket in the order of their keys' bytes, a page at a time. Throws {@link SourceError}. */
export type ListBucket = (target: BucketTarget, signal: AbortSignal) => AsyncGenerator<ListedObject[]>;

export const listBucket: ListBucket = async function* ({ bucket, pageKeys, ...target }, signal) {
  const store = await openObjectStore(target, signal);
  try {
    yield* listObjects(store, bucket, pageKeys === undefined ? {} : { pageKeys });
  } catch (error) {
    throw toSourceError(error);
  } finally {
    store.close();
  }
};

function toSourceError(error: unknown): SourceError {
  if (error instanceof SourceError) return error;
  if (error instanceof ObjectStoreError) {
    return new SourceError(`The object store refused the request: ${error.message} (${error.code}).`);
  }
  const { name } = error as Error;
  if (name === 'AbortError' || name === 'TimeoutError') return new SourceError('Reading the source took too long.');
  return connectionFailure(error);
}
