import t from 'tap';
import { checkImage, imageDigest } from '../../../runtime/domain/image.ts';

const digest = `sha256:${'a'.repeat(64)}`;

t.test('an image reference has a tag or a digest', async (t) => {
  const longest = `registry.test/${'a'.repeat(495)}:v1`;
  t.equal(longest.length, 512);
  for (const image of [
    'registry.example.com/shop/api:1.4.2',
    'localhost:5000/api:v1',
    'alpine:3',
    `ghcr.io/acme/api@${digest}`,
    `ghcr.io/acme/api:v1@${digest}`,
    longest,
  ]) {
    t.equal(checkImage(image), image);
  }
  for (const image of [
    '',
    'alpine',
    'registry.test:5000/api',
    'Registry.test/Api:v1',
    'api:v1;id',
    'api:',
    `api@sha256:${'a'.repeat(63)}`,
    `${longest}0`,
  ]) {
    const details = { field: 'image' };
    t.throws(() => checkImage(image), { code: 'invalid_value', details }, image);
  }
});

t.test('the digest of a reference', async (t) => {
  t.equal(imageDigest(`ghcr.io/acme/api:v1@${digest}`), digest);
  for (const reference of ['api:v1', digest, `api@${digest}0`]) t.equal(imageDigest(reference), undefined, reference);
});
