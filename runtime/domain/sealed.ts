import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** The encryption keys in the system namespace: new values use `current`, older values stay readable (decision 0001). */
export interface KeyRing {
  current: string;
  /** Key id → 32 bytes. */
  keys: ReadonlyMap<string, Buffer>;
}

/** What a sealed value is bound to: it cannot be opened for another record or purpose. */
export interface SealContext {
  id: string;
  purpose: string;
}

const keyBytes = 32;
/** Length of the authentication tag, in bytes. */
const tagBytes = 16;
const notSealed = 'not a value sealed with a key of this ring';

function associatedData(context: SealContext): Buffer {
  return Buffer.from(`${context.purpose}\n${context.id}`);
}

/** Parses the ring from its stored JSON: `{"current":"k1","keys":{"k1":"<base64 of 32 bytes>"}}`. */
export function parseKeyRing(text: string): KeyRing {
  const stored = JSON.parse(text) as { current: string; keys: Record<string, string> };
  const keys = new Map(Object.entries(stored.keys).map(([id, key]) => [id, Buffer.from(key, 'base64')]));
  if (!keys.has(stored.current)) throw new Error('the encryption key ring has no current key');
  for (const [id, key] of keys) {
    if (key.length !== keyBytes) throw new Error(`the key "${id}" of the encryption key ring does not have 32 bytes`);
  }
  return { current: stored.current, keys };
}

/** Encrypts with AES-256-GCM to `v1.<keyId>.<nonce>.<ciphertext and tag>` (decision 0001). */
export function seal(ring: KeyRing, context: SealContext, plaintext: string): string {
  const key = ring.keys.get(ring.current);
  if (!key) throw new Error(`the key ring has no key "${ring.current}"`);
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(associatedData(context));
  const sealed = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return `v1.${ring.current}.${nonce.toString('base64url')}.${sealed.toString('base64url')}`;
}

/**
 * Decrypts a value of {@link seal}.
 * @throws Error with the same message if the value was altered, truncated or moved, or if the ring lacks its key
 */
export function unseal(ring: KeyRing, context: SealContext, sealed: string): string {
  const [version, keyId = '', nonce, body, ...rest] = sealed.split('.');
  const key = ring.keys.get(keyId);
  const bytes = Buffer.from(body ?? '', 'base64url');
  if (version !== 'v1' || !key || !nonce || bytes.length < tagBytes || rest.length > 0) throw new Error(notSealed);
  try {
    // Without the length, Node.js accepts shorter tags, which can be guessed.
    const options = { authTagLength: tagBytes };
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'), options)
      .setAAD(associatedData(context))
      .setAuthTag(bytes.subarray(-tagBytes));
    return Buffer.concat([decipher.update(bytes.subarray(0, -tagBytes)), decipher.final()]).toString('utf8');
  } catch (error) {
    throw new Error(notSealed, { cause: error });
  }
}
