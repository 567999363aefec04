import t from 'tap';
import { parseKeyRing, seal, unseal } from '../../../runtime/domain/sealed.ts';

const keyOf = (fill: number, length = 32) => Buffer.alloc(length, fill).toString('base64');
const ring = (current: string, keys: Record<string, string>) => parseKeyRing(JSON.stringify({ current, keys }));
const context = { id: 'a', purpose: 'test' };

t.test('a sealed value opens with its key, also when another is current', async (t) => {
  const sealed = seal(ring('k1', { k1: keyOf(1) }), context, 'täxt');
  // AES-GCM is defined for nonces of 96 bits.
  t.match(sealed, /^v1\.k1\.[\w-]{16}\.[\w-]+$/);
  t.equal(unseal(ring('k2', { k1: keyOf(1), k2: keyOf(2) }), context, sealed), 'täxt');
  t.equal(unseal(ring('k1', { k1: keyOf(1) }), context, seal(ring('k1', { k1: keyOf(1) }), context, '')), '');
});

t.test('a value that was altered or moved, or whose key is missing, does not open', async (t) => {
  const one = ring('k1', { k1: keyOf(1) });
  const sealed = seal(one, context, 'text');
  const [version, id, nonce = '', body = ''] = sealed.split('.');
  const expected = { message: 'not a value sealed with a key of this ring' };
  t.throws(() => unseal(one, { ...context, id: 'b' }, sealed), expected);
  t.throws(() => unseal(one, { ...context, purpose: 'other' }, sealed), expected);
  t.throws(() => unseal(ring('k1', { k1: keyOf(2) }), context, sealed), expected);
  t.throws(() => unseal(ring('k2', { k2: keyOf(1) }), context, sealed), expected, 'its key was removed');
  const bytes = Buffer.from(body, 'base64url');
  const [, , emptyNonce, emptyBody = ''] = seal(one, context, '').split('.');
  const tag = Buffer.from(emptyBody, 'base64url');
  for (const text of [
    ...[Buffer.concat([Buffer.from('x'), bytes]), bytes.subarray(1), bytes.subarray(0, -1), bytes.subarray(-16)].map(
      (part) => [version, id, nonce, part.toString('base64url')].join('.'),
    ),
    // A tag that is shorter than 16 bytes can be guessed.
    ...[4, 8, 12, 15].map((length) =>
      [version, id, emptyNonce, tag.subarray(0, length).toString('base64url')].join('.'),
    ),
    `${sealed}.more`,
    '',
    'v1',
    `v2.k1.${nonce}.${body}`,
    `v1.k2.${nonce}.${body}`,
    `v1.k1..${body}`,
    `v1.k1.${nonce}`,
    `v1.k1.${nonce}.`,
  ]) {
    t.throws(() => unseal(one, context, text), expected, text);
  }
});

t.test('a ring has a current key, and all of its keys have 32 bytes', async (t) => {
  t.throws(() => ring('k2', { k1: keyOf(1) }), { message: 'the encryption key ring has no current key' });
  const message = 'the key "k1" of the encryption key ring does not have 32 bytes';
  t.throws(() => ring('k1', { k1: keyOf(1, 31) }), { message });
  t.throws(() => ring('k2', { k2: keyOf(2), k1: keyOf(1, 31) }), { message });
  t.throws(() => seal({ current: 'k2', keys: new Map() }, context, 'x'), { message: 'the key ring has no key "k2"' });
});
