import { createCipheriv, pbkdf2Sync, randomBytes } from 'node:crypto';
import { ObjectStoreError, sendSigned, type ObjectStore, type StoreRequest } from '../../runtime/host/object-store.ts';

/** A program's work with the objects of a bucket; neither the bucket itself, nor who may enter it. */
const objectActions = [
  ...['GetObject*', 'PutObject*', 'DeleteObject*', 'RestoreObject', 'AbortMultipartUpload', 'ListMultipartUploadParts'],
];
const bucketActions = [
  ...['ListBucket', 'ListBucketVersions', 'ListBucketMultipartUploads', 'GetBucketLocation', 'GetBucketVersioning'],
  ...['ListenBucketNotification', 'GetBucketObjectLockConfiguration'],
];

/**
 * The rights of a user who has the objects of some buckets. A user may change its own key and make others from it unless that
 * is forbidden. Pure. https://min.io/docs/minio/linux/administration/identity-access-management/policy-based-access-control.html
 */
export function bucketPolicy(buckets: readonly string[]): object {
  const named = (actions: readonly string[]) => actions.map((action) => `s3:${action}`);
  return {
    Version: '2012-10-17',
    Statement: [
      { Effect: 'Allow', Action: named(bucketActions), Resource: buckets.map((name) => `arn:aws:s3:::${name}`) },
      { Effect: 'Allow', Action: named(objectActions), Resource: buckets.map((name) => `arn:aws:s3:::${name}/*`) },
      { Effect: 'Deny', Action: ['admin:*'] },
    ],
  };
}

/** The users of a MinIO server, each with a policy of its name. Every call may be repeated. */
export function createMinioUsers(store: ObjectStore) {
  const ask = (operation: string, request: StoreRequest) =>
    sendSigned(store, ['minio', 'admin', 'v3', operation], request);
  const unlessGone = (code: string) => (error: unknown) => {
    if (!(error instanceof ObjectStoreError) || error.code !== code) throw error;
  };

  return {
    /** Makes the user with this secret key, or gives it this one, and rights on these buckets and no other. */
    async put(accessKey: string, secretKey: string, buckets: readonly string[]): Promise<void> {
      const policy = JSON.stringify(bucketPolicy(buckets));
      await ask('add-canned-policy', { method: 'PUT', query: { name: accessKey }, body: policy });
      const user = sealed(store.secretKey, JSON.stringify({ secretKey, status: 'enabled' }));
      await ask('add-user', { method: 'PUT', query: { accessKey }, body: user });
      const attached = { policyName: accessKey, userOrGroup: accessKey, isGroup: 'false' };
      await ask('set-user-or-group-policy', { method: 'PUT', query: attached });
    },

    /** Takes the user away, with all keys that were made from its own. */
    async remove(accessKey: string): Promise<void> {
      await ask('remove-user', { method: 'DELETE', query: { accessKey } }).catch(unlessGone('XMinioAdminNoSuchUser'));
      await ask('remove-canned-policy', { method: 'DELETE', query: { name: accessKey } }).catch(
        unlessGone('XMinioAdminNoSuchPolicy'),
      );
    },
  };
}

/** The sort of encryption whose key comes from PBKDF2, which takes less memory than Argon2 and is as good for a random secret. */
const pbkdf2AesGcm = 2;
const pbkdf2Rounds = 8_192;
/** Of what is shorter there is one piece. */
const pieceBytes = 16_384;

/**
 * A body as MinIO's admin API wants it where there are secrets in it: encrypted with the secret key of who asks. Salt, sort,
 * nonce, and one piece in AES-256-GCM. Its nonce ends with its number, 1; its associated data say that it is the last one
 * (0x80), and hold the tag of an empty message with the number 0.
 * https://pkg.go.dev/github.com/minio/madmin-go/v3#EncryptData https://pkg.go.dev/github.com/secure-io/sio-go
 */
export function sealed(password: string, text: string): Buffer {
  if (Buffer.byteLength(text) > pieceBytes) throw new Error('the body is too long');
  const [salt, nonce] = [randomBytes(32), randomBytes(8)];
  const key = pbkdf2Sync(password, salt, pbkdf2Rounds, 32, 'sha256');
  const piece = (number: number, associated: Buffer, content: string) => {
    const counter = Buffer.alloc(4);
    counter.writeUInt32LE(number);
    const cipher = createCipheriv('aes-256-gcm', key, Buffer.concat([nonce, counter])).setAAD(associated);
    return Buffer.concat([cipher.update(content, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  };
  const header = piece(0, Buffer.alloc(0), '');
  const only = piece(1, Buffer.concat([Buffer.from([0x80]), header]), text);
  return Buffer.concat([salt, Buffer.from([pbkdf2AesGcm]), nonce, only]);
}
