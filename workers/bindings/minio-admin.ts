import { createCipheriv, pbkdf2Sync, randomBytes } from 'node:crypto';
import { ObjectStoreError, type ObjectStore } from '../../runtime/services/object-store.ts';

/** Reading and writing objects; not changing the bucket itself or its permissions. */
const objectActions = [
  'GetObject*',
  'PutObject*',
  'DeleteObject*',
  'RestoreObject',
  'AbortMultipartUpload',
  'ListMultipartUploadParts',
];
const bucketActions = [
  'ListBucket',
  'ListBucketVersions',
  'ListBucketMultipartUploads',
  'GetBucketLocation',
  'GetBucketVersioning',
  'ListenBucketNotification',
  'GetBucketObjectLockConfiguration',
];

/**
 * The policy of a user with access to the objects of these buckets only. It denies the admin API, because MinIO otherwise
 * lets a user change its own key and create more. Pure.
 * https://min.io/docs/minio/linux/administration/identity-access-management/policy-based-access-control.html
 */
function bucketPolicy(buckets: readonly string[]): object {
  const toS3 = (actions: readonly string[]) => actions.map((action) => `s3:${action}`);
  return {
    Version: '2012-10-17',
    Statement: [
      { Effect: 'Allow', Action: toS3(bucketActions), Resource: buckets.map((name) => `arn:aws:s3:::${name}`) },
      { Effect: 'Allow', Action: toS3(objectActions), Resource: buckets.map((name) => `arn:aws:s3:::${name}/*`) },
      { Effect: 'Deny', Action: ['admin:*'] },
    ],
  };
}

/** Manages the users of a MinIO server, each with a policy of the same name. Every call is idempotent. */
export function createMinioUsers(store: Pick<ObjectStore, 'send'>, adminSecretKey: string) {
  const send = (method: string, operation: string, query: Record<string, string>, body?: string | Buffer) =>
    store.send({ method, path: ['minio', 'admin', 'v3', operation], query, ...(body !== undefined && { body }) });
  const ignore = (code: string) => (error: unknown) => {
    if (!(error instanceof ObjectStoreError) || error.code !== code) throw error;
  };

  return {
    /** Creates the user, or changes its secret key, and restricts it to these buckets. */
    async put(accessKey: string, secretKey: string, buckets: readonly string[]): Promise<void> {
      await send('PUT', 'add-canned-policy', { name: accessKey }, JSON.stringify(bucketPolicy(buckets)));
      const user = encryptBody(adminSecretKey, JSON.stringify({ secretKey, status: 'enabled' }));
      await send('PUT', 'add-user', { accessKey }, user);
      const attachment = { policyName: accessKey, userOrGroup: accessKey, isGroup: 'false' };
      await send('PUT', 'set-user-or-group-policy', attachment);
    },

    /** Deletes the user and all keys that were derived from its own. */
    async remove(accessKey: string): Promise<void> {
      await send('DELETE', 'remove-user', { accessKey }).catch(ignore('XMinioAdminNoSuchUser'));
      await send('DELETE', 'remove-canned-policy', { name: accessKey }).catch(ignore('XMinioAdminNoSuchPolicy'));
    },
  };
}

/** Encryption with a PBKDF2 key, which needs less memory than Argon2 and is as strong for a random secret. */
const pbkdf2AesGcm = 2;
const pbkdf2Rounds = 8_192;
/** A shorter body is encrypted as one fragment. */
const fragmentBytes = 16_384;

/**
 * Encrypts a request body as MinIO's admin API requires for bodies with secrets: salt, algorithm, nonce, and one AES-256-GCM
 * fragment. The fragment's nonce ends with its number, 1. Its associated data are 0x80, which marks the last fragment,
 * and the tag of an empty message with the number 0.
 * https://pkg.go.dev/github.com/minio/madmin-go/v3#EncryptData https://pkg.go.dev/github.com/secure-io/sio-go
 * @param secretKey of the sender
 */
export function encryptBody(secretKey: string, text: string): Buffer {
  if (Buffer.byteLength(text) > fragmentBytes) throw new Error(`the body is longer than ${fragmentBytes} bytes`);
  const [salt, nonce] = [randomBytes(32), randomBytes(8)];
  const key = pbkdf2Sync(secretKey, salt, pbkdf2Rounds, 32, 'sha256');
  const encrypt = (number: number, associated: Buffer, content: string) => {
    const counter = Buffer.alloc(4);
    counter.writeUInt32LE(number);
    const cipher = createCipheriv('aes-256-gcm', key, Buffer.concat([nonce, counter])).setAAD(associated);
    return Buffer.concat([cipher.update(content, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  };
  const header = encrypt(0, Buffer.alloc(0), '');
  const fragment = encrypt(1, Buffer.concat([Buffer.from([0x80]), header]), text);
  return Buffer.concat([salt, Buffer.from([pbkdf2AesGcm]), nonce, fragment]);
}
