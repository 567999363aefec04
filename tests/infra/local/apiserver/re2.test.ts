import t from 'tap';
import { patternFault } from '../../../../infra/local/apiserver/re2.ts';
import { isKubeError } from '../../../../runtime/kube/kube-client.ts';
import { startApi } from '../../../support/local-api.ts';

/** What kube-apiserver 1.34 answered about each, after "error parsing regexp: ". */
const refused: Readonly<Record<string, string>> = {
  '^(?!a)b$': 'invalid or unsupported Perl syntax: `(?!`',
  '(?=a)': 'invalid or unsupported Perl syntax: `(?=`',
  '(?>a)': 'invalid or unsupported Perl syntax: `(?>`',
  '(?#c)a': 'invalid or unsupported Perl syntax: `(?#`',
  '(?<=a)b': 'invalid named capture: `(?<=a)b`',
  '(?<!a)b': 'invalid named capture: `(?<!a)b`',
  '(a)\\1': 'invalid escape sequence: `\\1`',
  '\\k<x>(?<x>a)': 'invalid escape sequence: `\\k`',
  '\\cA': 'invalid escape sequence: `\\c`',
  '\\u0041': 'invalid escape sequence: `\\u`',
  '\\é': 'invalid escape sequence: `\\é`',
  '\\Z': 'invalid escape sequence: `\\Z`',
  '[\\b]': 'invalid escape sequence: `\\b`',
  'a{1001}': 'invalid repeat count: `{1001}`',
  'a{2,1001}': 'invalid repeat count: `{2,1001}`',
  'a{5,2}': 'invalid repeat count: `{5,2}`',
  '(a{600}){2}': 'invalid repeat count: `{2}`',
  'a**': 'invalid nested repetition operator: `**`',
  'a++': 'invalid nested repetition operator: `++`',
  '[^]': 'missing closing ]: `[^]`',
  '[z-a]': 'invalid character class range: `z-a`',
  '(': 'missing closing ): `(`',
  ')': 'unexpected ): `)`',
  '\\': 'trailing backslash at end of expression: ``',
};
/** What it took, and JavaScript reads alike. */
const taken = [
  ...['(?<x>a)', '\\d\\w\\s\\b\\B', '\\/\\-\\_', 'a{,5}', 'x{', 'a*?', 'a{2,}?', '\\x41', '\\0', '\\07', '[\\d-z]'],
  ...['[a&&b]', '(?:a|b)?', '[^a-z[(]', '(a{600}|b)c{900}', '^$', ''],
];
/** What it took, and JavaScript reads otherwise. */
const foreign = ['(?P<x>a)', '(?i)a', '[]a]', '\\p{L}', '\\z', '\\Qa\\E', '[[:alpha:]]', '\\x{41}'];

t.test('patterns are taken and refused as RE2 does, in its words', (t) => {
  for (const [pattern, words] of Object.entries(refused)) {
    const message = `must be a valid regular expression, but isn't: error parsing regexp: ${words}`;
    t.same(patternFault(pattern), { message, onlyHere: false }, pattern);
  }
  for (const pattern of taken) t.equal(patternFault(pattern), undefined, pattern);
  for (const pattern of foreign) t.match(patternFault(pattern), { message: /not read here/, onlyHere: true }, pattern);
  t.end();
});

t.test('a definition with such a pattern is refused, wherever in its schema it stands', async (t) => {
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
  const why = `Invalid value: "${pattern}": must be a valid regular expression, but isn't`;
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
    t.match(String(error), `spec.validation.openAPIV3Schema.${field}.pattern: ${why}`);
  }
  t.ok(await define({ a: { ...text, pattern: '^[ab]$' } }));
});
