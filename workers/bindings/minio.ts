import {
  defaultRegion,
  listObjects,
  ObjectStoreError,
  openObjectStore,
  type ObjectStore,
} from '../../runtime/services/object-store.ts';
import { setBucketEvents } from './bucket-events.ts';
import { createMinioUsers } from './minio-admin.ts';
import { BindingError, type BoundServer, type ServerTarget } from './server.ts';

/** Objects that are deleted at the same time. */
const parallel = 20;

/**
 * An object store for bindings: a bucket for each and, on a managed server, a user with access to that bucket only.
 * In an external store, bindings use the registered keys. @throws BindingError
 */
export async function openMinio(target: ServerTarget): Promise<BoundServer> {
  const { managed, credentials } = target;
  const { accessKey, secretKey, region } = credentials;
  if (accessKey === undefined || secretKey === undefined) {
    throw new BindingError(
      'The service has no keys: register it with an access key (svc service create --external … --access-key).',
    );
  }
  const store = await openObjectStore({ ...target, accessKey, secretKey, ...(region !== undefined && { region }) });
  const users = createMinioUsers(store, secretKey);

  return {
    databases: {
      async exists(name) {
        try {
          await listObjects(store, name, { pageKeys: 1 }).next();
          return true;
        } catch (error) {
          if (isRefusal(error, 'NoSuchBucket')) return false;
          if (isRefusal(error, 'AccessDenied')) return undefined;
          throw toBindingError(error);
        }
      },

      async create(name) {
        try {
          await createBucket(store, name, region);
        } catch (error) {
          if (isRefusal(error, 'BucketAlreadyOwnedByYou')) return;
          if (!isRefusal(error, 'AccessDenied')) throw toBindingError(error);
          throw new BindingError(
            `The registered key may not create the bucket "${name}". Create it and grant the key access, or bind with --database <a bucket that the key can use>.`,
          );
        }
      },

      async drop(name) {
        try {
          if (managed) await forceDelete(store, name);
          else await emptyAndDelete(store, name);
        } catch (error) {
          if (isRefusal(error, 'NoSuchBucket')) return;
          throw toBindingError(error);
        }
      },
    },

    async putUser({ username, password, database, bucket }) {
      const buckets = bucket === undefined ? [database] : [database, bucket];
      await users.put(username, password, buckets).catch(rethrow);
    },

    async deleteUser(username) {
      await users.remove(username).catch(rethrow);
    },

    ...(managed && {
      setBucketEvents: (bucket: string, enabled: boolean) => setBucketEvents(store, bucket, enabled).catch(rethrow),
    }),

    close: () => Promise.resolve(store.close()),
  };
}

/** Amazon refuses a request that names its first region. @param region default the first */
async function createBucket(store: ObjectStore, bucket: string, region = defaultRegion): Promise<void> {
  const location = `<LocationConstraint>${region}</LocationConstraint>`;
  const body = region === defaultRegion ? '' : `<CreateBucketConfiguration>${location}</CreateBucketConfiguration>`;
  await store.send({ method: 'PUT', path: [bucket], body });
}

/** MinIO's extension of S3: deletes a bucket with everything in it, old versions and unfinished uploads included. */
async function forceDelete(store: ObjectStore, bucket: string): Promise<void> {
  await store.send({ method: 'DELETE', path: [bucket], headers: { 'x-minio-force-delete': 'true' } });
}

async function emptyAndDelete(store: ObjectStore, bucket: string): Promise<void> {
  for await (const page of listObjects(store, bucket)) {
    for (let start = 0; start < page.length; start += parallel) {
      const batch = page.slice(start, start + parallel);
      await Promise.all(batch.map(({ key }) => store.send({ method: 'DELETE', path: [bucket, key] })));
    }
  }
  await store.send({ method: 'DELETE', path: [bucket] });
}

function isRefusal(error: unknown, code: string): boolean {
  return error instanceof ObjectStoreError && error.code === code;
}

function rethrow(error: unknown): never {
  throw toBindingError(error);
}

function toBindingError(error: unknown): BindingError {
  if (error instanceof ObjectStoreError) {
    return new BindingError(`The object store refused the request: ${error.message} (${error.code}).`);
  }
  const { message, code } = error as Error & { code?: string };
  return new BindingError(`Cannot reach the object store (${code ?? message}).`);
}
