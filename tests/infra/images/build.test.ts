import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { images } from '../../../infra/images/catalogue.ts';
import { digestOf } from '../../../infra/images/digest.ts';

t.test('the digest of an image changes with what it is made of, and only with that', (t) => {
  const root = t.testdir({ a: { one: '1', deep: { two: '2' } }, b: 'b', other: 'x' });
  const digest = () => digestOf(root, ['b', 'a'], 'base:1');
  const first = digest();
  t.equal(digestOf(root, ['a', 'b'], 'base:1'), first, 'the order of the inputs does not matter');
  writeFileSync(join(root, 'other'), 'y');
  t.equal(digest(), first, 'a file outside the inputs does not matter');
  t.not(digestOf(root, ['a', 'b'], 'base:2'), first, 'the base matters');
  writeFileSync(join(root, 'a/deep/two'), '3');
  const changed = digest();
  t.not(changed, first, 'a nested file matters');
  chmodSync(join(root, 'b'), 0o755);
  t.not(digest(), changed, 'being executable matters');
  t.end();
});

t.test('every image is built from its own folder, and the demo app in two versions', (t) => {
  for (const image of images) t.ok(image.inputs.includes(`infra/images/${image.name}`), image.name);
  t.same(Object.keys(images.find(({ name }) => name === 'hello')?.variants ?? {}), ['v1', 'v2']);
  t.end();
});
