import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import t from 'tap';
import {
  apiKeyDigest,
  apiKeyLength,
  apiKeyPattern,
  apiKeySearch,
  generateApiKey,
  parseApiKey,
} from '../../../runtime/domain/api-key.ts';
import { seededRandom } from '../../support/random.ts';

t.test('a generated key has the documented form and yields its handle', (t) => {
  const generated = Array.from({ length: 1000 }, () => generateApiKey());
  const wrong = generated.filter(
    ({ key, handle }) =>
      !apiKeyPattern.test(key) ||
      new RegExp(apiKeySearch, 'u').exec(`Bearer ${key}.`)?.[0] !== key ||
      key.length !== apiKeyLength ||
      !key.startsWith(`svc_${handle}_`) ||
      parseApiKey(key)?.handle !== handle,
  );
  t.same(wrong, []);
  t.equal(new Set(generated.map(({ key }) => key)).size, 1000);
  t.end();
});

/** CRC-32 of `svc_abcdefgh_` and forty zeros, modulo 36^6, in base 36; computed with another program. */
const knownChecksum = 'jukhz6';

t.test('the checksum is fixed: issued keys stay valid', (t) => {
  t.same(parseApiKey(`svc_abcdefgh_${'0'.repeat(40)}${knownChecksum}`), { handle: 'abcdefgh' });
  t.end();
});

t.test('a valid checksum does not excuse another form', (t) => {
  const withChecksum = (body: string) => body + (crc32(body) % 36 ** 6).toString(36).padStart(6, '0');
  const secret = 's'.repeat(40);
  t.same(parseApiKey(withChecksum(`svc_abcdefgh_${secret}`)), { handle: 'abcdefgh' });
  for (const body of [
    `svx_abcdefgh_${secret}`,
    `svc-abcdefgh_${secret}`,
    `svc_abcdefgh-${secret}`,
    `svc_abcdefghi${secret}`,
    `svc__bcdefgh_${secret}`,
    `svc_abcdefg__${secret}`,
    `svc_abcdefgh__${'s'.repeat(39)}`,
    `svc_abcdefgH_${secret}`,
    `svc_abcdefgh_${secret}s`,
    `svc_abcdefgh_${'s'.repeat(39)}`,
  ]) {
    t.equal(parseApiKey(withChecksum(body)), undefined, body);
  }
  t.end();
});

t.test('a key with any one character changed is refused', (t) => {
  const { key } = generateApiKey();
  const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789_-A ~\0é';
  for (let place = 0; place < key.length; place++) {
    const other = alphabet[randomInt(alphabet.length)] ?? '';
    if (other === key[place]) continue;
    const changed = key.slice(0, place) + other + key.slice(place + 1);
    t.equal(parseApiKey(changed), undefined, JSON.stringify(changed));
  }
  t.end();
});

t.test('any other text is refused without a throw', (t) => {
  const { key } = generateApiKey();
  const garbage = [
    '',
    'svc_',
    '_',
    'null',
    key.slice(1),
    key.slice(0, -1),
    `${key}0`,
    ` ${key}`,
    `${key} `,
    `${key}\n`,
    `${key}, ${key}`,
    key.toUpperCase(),
    key.replace('svc', 'abc'),
    'x'.repeat(1_000_000),
    '\u{1f511}'.repeat(59),
  ];
  for (const text of garbage) t.equal(parseApiKey(text), undefined, JSON.stringify(text.slice(0, 70)));
  t.end();
});

t.test('no text derived from a key is accepted except the key itself', (t) => {
  const seed = randomInt(2 ** 31);
  const random = seededRandom(seed);
  const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789_-. ,;%\0\n\r\tABCéß日\u{1f511}\ud800';
  const characters = Array.from(alphabet);
  const edits: ((key: string, at: number) => string)[] = [
    (key, at) => key.slice(0, at) + random.pick(characters) + key.slice(at + 1),
    (key, at) => key.slice(0, at) + random.pick(characters) + key.slice(at),
    (key, at) => key.slice(0, at) + key.slice(at + 1),
    (key, at) => key.slice(at) + key.slice(0, at),
    (key, at) => key.slice(0, at) + key.slice(at).toUpperCase(),
    (key, at) => key.slice(0, at) + generateApiKey().key.slice(at),
    (key, at) => key.slice(0, at) + (key[at + 1] ?? '') + (key[at] ?? '') + key.slice(at + 2),
  ];
  for (let round = 0; round < 20_000; round++) {
    const { key } = generateApiKey();
    let text = key;
    for (let edit = random.between(1, 3); edit > 0; edit--)
      text = random.pick(edits)(text, random.between(0, text.length));
    const parsed = parseApiKey(text);
    if (text === key ? !parsed : parsed && (!apiKeyPattern.test(text) || parsed.handle !== text.slice(4, 12))) {
      t.fail(`seed ${seed}: ${JSON.stringify(text)}`);
    }
    // A chance of one in two thousand million for each text of this form.
    if (parsed && text !== key && text.slice(4, 12) === key.slice(4, 12)) t.fail(`seed ${seed}: ${text}`);
  }
  t.pass(`seed ${seed}`);
  t.end();
});

t.test('a digest is the SHA-256 of the whole key', (t) => {
  t.equal(apiKeyDigest('abc').toString('hex'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  t.end();
});
