import { createHmac, generateKeyPairSync } from 'node:crypto';
import t from 'tap';
import { checkDeployKey, fingerprintOf, hostKeysIn, publicHalfOf } from '../../../runtime/domain/ssh-keys.ts';
import { isPublicKey } from '../../../runtime/domain/public-key.ts';

const encoded = (fill: string) => Buffer.from(fill.repeat(51)).toString('base64');
const key = `ssh-ed25519 ${encoded('k')}`;
const other = `ssh-rsa ${encoded('r')}`;

t.test('a public key has a known type and at most 4100 characters', async (t) => {
  const longest = `ssh-rsa ${'A'.repeat(4_092)}`;
  t.equal(longest.length, 4_100);
  for (const text of [key, other, longest]) t.ok(isPublicKey(text), text.slice(0, 40));
  for (const text of ['', 'ssh-ed25519', `ssh-dss ${encoded('k')}`, `${key}\n`, `${key} ann@host`, `${longest}A`]) {
    t.notOk(isPublicKey(text), text.slice(0, 40));
  }
  t.match(fingerprintOf(key), /^SHA256:[A-Za-z0-9+/]{43}$/);
});

t.test('the keys of a server in a known_hosts file', async (t) => {
  const standard = { host: 'git.test', port: 22 };
  const hashed = (host: string, salt = Buffer.from('salt')) =>
    `|1|${salt.toString('base64')}|${createHmac('sha1', salt).update(host).digest('base64')}`;
  const file = [
    '# comment',
    `git.test ${key}`,
    ` Git.test,10.0.0.7 ${other} comment`,
    `git.test ${key}`,
    `*.test ${encoded('w')}`,
    `@revoked git.test ${other}`,
    `git.test ssh-dss ${encoded('d')}`,
    `[git.test]:2222 ssh-ed25519 ${encoded('p')}`,
    `${hashed('hashed.test')} ${key}`,
  ].join('\r\n');
  t.same(hostKeysIn(file, standard), [key, other]);
  t.same(hostKeysIn(file, { host: 'git.test', port: 2222 }), [`ssh-ed25519 ${encoded('p')}`]);
  t.same(hostKeysIn(file, { host: 'hashed.test', port: 22 }), [key]);
  const field = { code: 'invalid_value', details: { field: 'knownHosts' } };
  t.throws(() => hostKeysIn(file, { host: 'x.test', port: 22 }), { ...field, message: /`ssh-keyscan x\.test`/ });
  t.throws(() => hostKeysIn(file, { host: 'x.test', port: 23 }), { ...field, message: /`ssh-keyscan -p 23 x\.test`/ });

  const lines = (count: number) =>
    Array.from({ length: count }, (_, at) => `git.test ${key}${String(at).padStart(4, '0')}`).join('\n');
  t.equal(hostKeysIn(lines(20), standard).length, 20);
  t.throws(() => hostKeysIn(lines(21), standard), field, 'more keys than a server has');
  const below = (count: number) => `${'# comment\n'.repeat(count)}git.test ${key}`;
  t.same(hostKeysIn(below(1_999), standard), [key]);
  t.throws(() => hostKeysIn(below(2_000), standard), field, 'more lines than a file for a server has');
});

const field = (bytes: Buffer | string) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(Buffer.byteLength(bytes));
  return Buffer.concat([length, Buffer.from(bytes)]);
};
const framed = (bytes: Buffer) =>
  `-----BEGIN OPENSSH PRIVATE KEY-----\n${bytes.toString('base64')}\n-----END OPENSSH PRIVATE KEY-----\n`;
const publicBlob = Buffer.concat([field('ssh-ed25519'), field('k'.repeat(32))]);

/** https://cvsweb.openbsd.org/src/usr.bin/ssh/PROTOCOL.key */
function openSshKey({ magic = 'openssh-key-v1\0', cipher = 'none', keys = 1 } = {}): Buffer {
  const count = Buffer.from([0, 0, 0, keys]);
  const parts = [field(cipher), field('none'), field(''), count, field(publicBlob), field('private')];
  return Buffer.concat([Buffer.from(magic), ...parts]);
}

t.test('a deploy key is a private key without a passphrase', async (t) => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const pem = { type: 'pkcs8', format: 'pem' } as const;
  const plain = openSshKey();
  checkDeployKey(framed(plain));
  checkDeployKey(privateKey.export(pem).toString());
  t.equal(publicHalfOf(framed(plain)), `ssh-ed25519 ${publicBlob.toString('base64')}`);

  const refused = (text: string, message: RegExp) =>
    t.throws(() => checkDeployKey(text), {
      code: 'invalid_value',
      message,
      details: { field: 'credentials.deployKey' },
    });
  refused(framed(openSshKey({ cipher: 'aes256-ctr' })), /protected by a passphrase/);
  for (const type of ['pkcs8', 'sec1'] as const) {
    const encrypted = privateKey.export({ ...pem, type, cipher: 'aes-256-cbc', passphrase: 'x' });
    refused(encrypted.toString(), /protected by a passphrase/);
  }
  refused(key, /This is a public key/);
  refused(`${key} ann@host\n`, /This is a public key/);
  refused('secret', /^This is not a private key; create one with/);
  for (const damaged of [
    openSshKey({ magic: 'openssh-key-v2\0' }),
    openSshKey({ keys: 2 }),
    ...[-1, 15, 17, 21, 30, 45].map((length) => plain.subarray(0, length)),
  ]) {
    refused(framed(damaged), /incomplete or damaged/);
    t.equal(publicHalfOf(framed(damaged)), undefined);
  }
  t.equal(publicHalfOf(privateKey.export(pem).toString()), undefined, 'not in OpenSSH format');
});
