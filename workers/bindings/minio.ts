import {
  askStore,
  defaultRegion,
  listObjects,
  ObjectStoreError,
  type Bucket,
  type ObjectStore,
} from '../../runtime/host/object-store.ts';
import { httpAgent } from '../../runtime/host/service-address.ts';
import { tellOfBucket } from './bucket-events.ts';
import { createMinioUsers } from './minio-admin.ts';
import { BindingError, type BoundServer, type ServerTarget } from './server.ts';

/** Objects that are deleted at a time. */
const parallel = 20;

/**
 * An object store for bindings: a bucket for each, and where the platform runs the server, a user who has this one only.
 * An external store is entered with the keys that were registered. @throws BindingError
 */
export function openMinio(target: ServerTarget): Promise<BoundServer> {
  const { host, port, tls, own, address, credentials } = target;
  const { accessKey, secretKey, region } = credentials;
  if (accessKey === undefined || secretKey === undefined) {
    return Promise.reject(
      new BindingError(
        'The service has no keys: register it with some (svc service create --external … --access-key).',
      ),
    );
  }
  const via = httpAgent(address);
  const store: ObjectStore = { host, port, tls, accessKey, secretKey, via, ...(region !== undefined && { region }) };
  const users = createMinioUsers(store);
  const bucketOf = (bucket: string): Bucket => ({ ...store, bucket });

  return Promise.resolve({
    databases: {
      async has(name) {
        try {
          await askStore(bucketOf(name), { query: { 'list-type': '2', 'max-keys': '1' } });
          return true;
        } catch (error) {
          if (isRefusal(error, 'NoSuchBucket')) return false;
          if (isRefusal(error, 'AccessDenied')) return undefined;
          throw refusal(error);
        }
      },

      async make(name) {
        try {
          await askStore(bucketOf(name), { method: 'PUT', body: locationIn(region) });
        } catch (error) {
          if (isRefusal(error, 'BucketAlreadyOwnedByYou')) return;
          if (!isRefusal(error, 'AccessDenied')) throw refusal(error);
          throw new BindingError(
            `The object store does not let the registered key make a bucket "${name}": make it, and give the key rights on it, or bind with --database <a bucket that it may use>.`,
          );
        }
      },

      async drop(name) {
        const bucket = bucketOf(name);
        try {
          if (!own) await empty(bucket);
          // MinIO's way to delete a bucket with all that is in it, versions and unfinished uploads too.
          await askStore(bucket, { method: 'DELETE', headers: own ? { 'x-minio-force-delete': 'true' } : {} });
        } catch (error) {
          if (isRefusal(error, 'NoSuchBucket')) return;
          throw refusal(error);
        }
      },
    },

    async admit({ username, password, database, bucket }) {
      await users
        .put(username, password, bucket === undefined ? [database] : [database, bucket])
        .catch((error: unknown) => {
          throw refusal(error);
        });
    },

    async expel(username) {
      await users.remove(username).catch((error: unknown) => {
        throw refusal(error);
      });
    },

    ...(own && {
      tell: (bucket: string, told: boolean) =>
        tellOfBucket(bucketOf(bucket), told).catch((error: unknown) => {
          throw refusal(error);
        }),
    }),

    close: () => via.destroy(),
  });
}

async function empty(bucket: Bucket): Promise<void> {
  for await (const page of listObjects(bucket)) {
    for (let start = 0; start < page.length; start += parallel) {
      const some = page.slice(start, start + parallel);
      await Promise.all(some.map(({ key }) => askStore(bucket, { method: 'DELETE', key })));
    }
  }
}

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucket.html */
function locationIn(region: string = defaultRegion): string {
  if (region === defaultRegion) return '';
  const text = region.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<CreateBucketConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><LocationConstraint>${text}</LocationConstraint></CreateBucketConfiguration>`;
}

function isRefusal(error: unknown, code: string): boolean {
  return error instanceof ObjectStoreError && error.code === code;
}

function refusal(error: unknown): BindingError {
  if (error instanceof ObjectStoreError) {
    return new BindingError(`The object store refuses: ${error.message} (${error.code}).`);
  }
  const { message, code } = error as Error & { code?: string };
  return new BindingError(`The object store does not answer (${code ?? message}).`);
}
