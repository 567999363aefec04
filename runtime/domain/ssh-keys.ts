import { createHash, createHmac, createPrivateKey } from 'node:crypto';
import { Problem } from './problem.ts';
import { hostKeysMax, isPublicKey } from './public-key.ts';

const fileMaxLines = 2_000;

/** The fingerprint of a public key, as shown by ssh and git servers: `SHA256:…`. Pure. */
export function fingerprintOf(key: string): string {
  const [, encoded = ''] = key.split(' ');
  return `SHA256:${createHash('sha256').update(Buffer.from(encoded, 'base64')).digest('base64').replace(/=$/, '')}`;
}

/**
 * The keys that a known_hosts file (https://man.openbsd.org/sshd.8#SSH_KNOWN_HOSTS_FILE_FORMAT) contains for a server. Names may
 * be hashed, as on Debian; patterns and marked lines are ignored. Pure.
 * @throws Problem `invalid_value` if there are none
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
    `The file contains no key of ${name}. Create one with \`${scan}\` and compare the fingerprints with those that the server's operator publishes.`,
  );
}

function namesHost(names: string, host: string): boolean {
  const hashed = /^\|1\|([A-Za-z0-9+/=]+)\|([A-Za-z0-9+/=]+)$/.exec(names);
  if (!hashed) return names.toLowerCase().split(',').includes(host);
  const [, salt = '', digest = ''] = hashed;
  return createHmac('sha1', Buffer.from(salt, 'base64')).update(host).digest('base64') === digest;
}

const openSshFrame = /^-----BEGIN OPENSSH PRIVATE KEY-----\s([A-Za-z0-9+/=\s]+)-----END OPENSSH PRIVATE KEY-----\s*$/;
/** PKCS #8, and the older format of OpenSSL (RFC 1421). */
const encryptedPem = /^(?:-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED)\r?$/m;
const openSshMagic = 'openssh-key-v1\0';

/**
 * Checks that a text is a private key without a passphrase, in OpenSSH format or PEM. Pure.
 * @throws Problem `invalid_value`, which does not contain the text
 */
export function checkDeployKey(text: string): void {
  const key = text.trim();
  if (isPublicKey(key.split(/\s+/).slice(0, 2).join(' '))) {
    throw badKey('This is a public key. Pass the private key here, and add the public key to the repository.');
  }
  if (openSshFrame.test(key)) {
    const parts = openSshParts(key);
    if (!parts) throw badKey('The private key is incomplete or damaged.');
    if (parts.cipher !== 'none') throw locked();
    return;
  }
  // Node's error for such a key differs between versions.
  if (encryptedPem.test(key)) throw locked();
  try {
    createPrivateKey(key);
  } catch {
    throw badKey(`This is not a private key; create one with \`${makeKey}\`.`);
  }
}

/** The public key of a private key in OpenSSH format, as git servers accept it; undefined for other formats. Pure. */
export function publicHalfOf(deployKey: string): string | undefined {
  const key = openSshParts(deployKey.trim())?.publicKey;
  return key !== undefined && isPublicKey(key) ? key : undefined;
}

const makeKey = "ssh-keygen -t ed25519 -N '' -f deploy-key";

/** https://cvsweb.openbsd.org/src/usr.bin/ssh/PROTOCOL.key: it contains the public key unencrypted. */
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
    `The private key is protected by a passphrase, which the platform cannot enter. Create one without: \`${makeKey}\`.`,
  );
}

function badKey(message: string): Problem {
  return refusal('credentials.deployKey', message);
}

function refusal(field: string, message: string): Problem {
  return new Problem('invalid_value', message, { details: { field } });
}
