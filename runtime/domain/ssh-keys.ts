import { createHash, createHmac, createPrivateKey } from 'node:crypto';
import { Problem } from './problem.ts';

// A public key stands here as known_hosts and authorized_keys have it: `<type> <base64>`.

/** The grammar of one public key, of at most {@link publicKeyMax} characters: a type that OpenSSH takes by default, and its base64. */
export const publicKeyPattern =
  '^(?:ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(?:256|384|521)|sk-(?:ssh-ed25519|ecdsa-sha2-nistp256)@openssh\\.com) [A-Za-z0-9+/]{40,}={0,2}$';

/** Characters of one public key at most. */
export const publicKeyMax = 4_100;

/** A server has one key of each type; this is far more. */
export const hostKeysMax = 20;

const publicKeyShape = new RegExp(publicKeyPattern);
const fileMaxLines = 2_000;

/** The fingerprint of a public key, as ssh and the pages of git servers show it: `SHA256:…`. Pure. */
export function fingerprintOf(key: string): string {
  const [, encoded = ''] = key.split(' ');
  return `SHA256:${createHash('sha256').update(Buffer.from(encoded, 'base64')).digest('base64').replace(/=+$/, '')}`;
}

/** Whether this may be a public key. Pure. */
export function isPublicKey(text: string): boolean {
  return text.length <= publicKeyMax && publicKeyShape.test(text);
}

/**
 * The keys that a known_hosts file (https://man.openbsd.org/sshd.8#SSH_KNOWN_HOSTS_FILE_FORMAT) has for a server. Names may
 * be hashed, as Debian writes them; patterns and marked lines are passed over. Pure.
 * @throws Problem `invalid_value` when it has none
 */
export function hostKeysIn(file: string, { host, port }: { host: string; port: number }): string[] {
  const name = port === 22 ? host : `[${host}]:${port}`;
  const keys = new Set<string>();
  for (const line of file.split(/\r?\n/).slice(0, fileMaxLines)) {
    const [names = '', type = '', encoded = ''] = line.trim().split(/\s+/);
    if (namesHost(names, name) && isPublicKey(`${type} ${encoded}`)) keys.add(`${type} ${encoded}`);
  }
  if (keys.size > 0 && keys.size <= hostKeysMax) return [...keys];
  const scan = port === 22 ? `ssh-keyscan ${host}` : `ssh-keyscan -p ${port} ${host}`;
  throw refusal(
    'knownHosts',
    `There is no key of ${name} in that file; make one with \`${scan}\`, and compare the fingerprints with those that the server's operator publishes.`,
  );
}

function namesHost(names: string, host: string): boolean {
  const hashed = /^\|1\|([A-Za-z0-9+/=]+)\|([A-Za-z0-9+/=]+)$/.exec(names);
  if (!hashed) return names.toLowerCase().split(',').includes(host);
  const [, salt = '', digest = ''] = hashed;
  return createHmac('sha1', Buffer.from(salt, 'base64')).update(host).digest('base64') === digest;
}

const openSshFrame = /^-----BEGIN OPENSSH PRIVATE KEY-----\s+([A-Za-z0-9+/=\s]+)-----END OPENSSH PRIVATE KEY-----\s*$/;
const openSshMagic = 'openssh-key-v1\0';

/**
 * Checks that a text is a private key that can be used without asking anybody: OpenSSH's own form, or PEM. Pure.
 * @throws Problem `invalid_value`, with nothing of the text in it
 */
export function checkDeployKey(text: string): void {
  const key = text.trim();
  if (isPublicKey(key.split(/\s+/).slice(0, 2).join(' '))) {
    throw badKey('This is the public half of a key; give the private one, and add this one to the repository.');
  }
  if (openSshFrame.test(key)) {
    const parts = openSshParts(key);
    if (!parts) throw badKey('The private key is cut off or damaged.');
    if (parts.cipher !== 'none') throw locked();
    return;
  }
  try {
    createPrivateKey(key);
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_MISSING_PASSPHRASE') throw locked();
    throw badKey(`This is no private key; make one with \`${makeKey}\`.`);
  }
}

/** The public half of a key in OpenSSH's form, as a git server takes it; undefined of other forms. Pure. */
export function publicHalfOf(deployKey: string): string | undefined {
  const key = openSshParts(deployKey.trim())?.publicKey;
  return key !== undefined && isPublicKey(key) ? key : undefined;
}

const makeKey = "ssh-keygen -t ed25519 -N '' -f deploy-key";

/** https://cvsweb.openbsd.org/src/usr.bin/ssh/PROTOCOL.key: the public half stands there in clear. */
function openSshParts(key: string): { cipher: string; publicKey: string } | undefined {
  const bytes = Buffer.from(openSshFrame.exec(key)?.[1] ?? '', 'base64');
  if (bytes.subarray(0, openSshMagic.length).toString('latin1') !== openSshMagic) return undefined;
  let at = openSshMagic.length;
  const number = () => {
    if (at + 4 > bytes.length) throw new RangeError();
    at += 4;
    return bytes.readUInt32BE(at - 4);
  };
  const text = (): Buffer => {
    const end = number() + at;
    if (end > bytes.length) throw new RangeError();
    const part = bytes.subarray(at, end);
    at = end;
    return part;
  };
  try {
    const [cipher] = [text().toString('latin1'), text(), text()];
    if (number() !== 1) return undefined;
    const blob = text();
    const type = blob.subarray(4, 4 + blob.readUInt32BE(0)).toString('latin1');
    text();
    return { cipher, publicKey: `${type} ${blob.toString('base64')}` };
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function locked(): Problem {
  return badKey(
    `The private key is locked by a passphrase, which nobody could type; make one without: \`${makeKey}\`.`,
  );
}

function badKey(message: string): Problem {
  return refusal('credentials.deployKey', message);
}

function refusal(field: string, message: string): Problem {
  return new Problem('invalid_value', message, { details: { field } });
}
