import t from 'tap';
import { isPortablePattern } from '../../../../infra/local/apiserver/pattern.ts';
import { isKubeError } from '../../../../runtime/kube/kube-client.ts';
import { startApi } from '../../../support/local-api.ts';

/** Patterns that kube-apiserver 1.34 refuses: RE2 does not have this syntax. */
const invalid = [
  '^(?!a)b$',
  '(?=a)',
  '(?<=a)b',
  '(?<!a)b',
  '(?>a)',
  '(?#c)a',
  '(a)\\1',
  '\\k<x>(?<x>a)',
  '\\cA',
  '\\u0041',
  '\\é',
  '\\Z',
  '[\\b]',
  'a{1001}',
  'a{2,1001}',
  'a{5,2}',
  'a**',
  'a++',
  '[^]',
  '[z-a]',
  '(',
  ')',
  '\\',
];
/** Patterns that kube-apiserver accepts and JavaScript refuses or reads differently. */
const foreign = [
  '(?P<x>a)',
  '(?i)a',
  '[]a]',
  '\\s',
  '\\p{L}',
  '\\z',
  '\\Qa\\E',
  '[[:alpha:]]',
  '\\x{41}',
  'a{,5}',
  'x{',
];
const portable = [
  '',
  '^$',
  'a*?',
  'a{2,}?',
  '[a&&b]',
  '(?:a|b)?',
  '[^a-z[(]',
  '\\d\\w\\b',
  '\\[a\\]',
  '^\\/[\\w.-]{1,63}$',
];

t.test('a pattern is portable when RE2 and JavaScript read it alike', (t) => {
  for (const pattern of [...invalid, ...foreign]) t.equal(isPortablePattern(pattern), false, pattern);
  for (const pattern of portable) t.equal(isPortablePattern(pattern), true, pattern);
  t.end();
});

t.test('a definition with a pattern that is not portable is refused, anywhere in its schema', async (t) => {
  const { kube } = await startApi(t);
  const pattern = '^(?!a)b$';
  const text = { type: 'string', pattern };
  const define = (properties: object) =>
    kube.create({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'things.example.test' },
      spec: {
        group: 'example.test',
        scope: 'Namespaced',
        names: { kind: 'Thing', plural: 'things', singular: 'thing', listKind: 'ThingList' },
        versions: [
          { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object', properties } } },
        ],
      },
    });
  const reason = `Invalid value: "${pattern}": must be a regular expression that RE2 and JavaScript read alike`;
  for (const [schema, field] of [
    [text, 'properties[a]'],
    [{ type: 'array', items: text }, 'properties[a].items'],
    [{ type: 'object', additionalProperties: text }, 'properties[a].additionalProperties'],
    [{ type: 'object', properties: { b: text } }, 'properties[a].properties[b]'],
  ] as const) {
    const error: unknown = await define({ a: schema }).then(
      () => undefined,
      (refusal: unknown) => refusal,
    );
    t.ok(isKubeError(error, 422), field);
    t.match(String(error), `spec.validation.openAPIV3Schema.${field}.pattern: ${reason}`);
  }
  t.ok(await define({ a: { ...text, pattern: '^[ab]$' } }));
});
