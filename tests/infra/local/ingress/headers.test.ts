import t from 'tap';
import { canonicalName, headersOf } from '../../../../infra/local/ingress/headers.ts';

t.test('names are written as Go writes them, each spelling as the first time', (t) => {
  const spellings: [name: string, canonical: string][] = [
    ['x-svc_KEY-name', 'X-Svc_key-Name'],
    ['CONTENT-TYPE', 'Content-Type'],
    ['content-type', 'Content-Type'],
    ['-a--b', '-A--B'],
    ['', ''],
    [`x-${'A'.repeat(100)}`, `X-A${'a'.repeat(99)}`],
    // An object's property, which is no name that is known.
    ['constructor', 'Constructor'],
  ];
  for (const time of ['first', 'again']) {
    for (const [name, canonical] of spellings) t.equal(canonicalName(name), canonical, `${name}, ${time}`);
  }
  t.end();
});

t.test('more different names than are kept stay correct', (t) => {
  const wrong = Array.from({ length: 5_000 }, (_, index) => index % 1_700).filter(
    (number) => canonicalName(`x-name-a${number}`) !== `X-Name-A${number}`,
  );
  t.same(wrong, []);
  t.same([...headersOf(['accept', 'a', 'ACCEPT', 'b'])], [['Accept', ['a', 'b']]]);
  t.end();
});
