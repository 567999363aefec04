import t from 'tap';
import { Problem } from '../../../runtime/domain/problem.ts';
import {
  checkVariableName,
  checkVariableValue,
  environmentDigest,
  referencesOf,
  resolveVariables,
  valueMaxBytes,
} from '../../../runtime/domain/variables.ts';

const listOf = (variables: Record<string, string>) =>
  Object.entries(variables).map(([name, value]) => ({ name, value }));
const resolved = (variables: Record<string, string>, secrets: Record<string, string> = {}) =>
  Object.fromEntries(
    resolveVariables(listOf(variables), listOf(secrets)).map(({ name, value }) => [name, value] as const),
  );

/** The refusal's message; its details name the field. */
function refusalOf(run: () => unknown): { message: string; path: unknown } {
  try {
    run();
  } catch (error) {
    if (error instanceof Problem && error.code === 'invalid_value') {
      t.equal(error.details?.['field'], 'env');
      return { message: error.message, path: error.details?.['path'] };
    }
    throw error;
  }
  throw new Error('nothing was refused');
}

t.test('references are resolved in any order, through each other and to secrets', async (t) => {
  t.same(
    resolved(
      { URL: 'http://${HOST}:${HOST_PORT}/', HOST: '${NAME}.test', NAME: 'db', HOST_PORT: '5432', EMPTY: '' },
      { PASSWORD: 'p$${NAME}$$' },
    ),
    { EMPTY: '', HOST: 'db.test', HOST_PORT: '5432', NAME: 'db', PASSWORD: 'p$${NAME}$$', URL: 'http://db.test:5432/' },
    "a secret's value is never interpreted",
  );
  t.same(resolved({ DSN: 'u:${PASSWORD}@h' }, { PASSWORD: 'x${y' }), { DSN: 'u:x${y@h', PASSWORD: 'x${y' });
  t.same(resolved({ A: 'variable', B: '${A}' }, { A: 'secret' }), { A: 'secret', B: 'secret' });
  t.same(resolved({}), {});
});

t.test('dollars', async (t) => {
  t.same(resolved({ A: '$', B: '$5', C: 'a$', D: '$$', E: '$${A}', F: '$$$${A}', G: '$$${A}', H: '$A' }), {
    A: '$',
    B: '$5',
    C: 'a$',
    D: '$',
    E: '${A}',
    F: '$${A}',
    G: '$$',
    H: '$A',
  });
  for (const value of ['${', '${}', 'a ${ b }', '${1A}', '${A-B}', '${A', '${${A}}']) {
    t.match(refusalOf(() => resolved({ A: 'x', X: value })).message, /invalid \$\{…\}/, value);
  }
});

t.test('a reference that cannot be resolved is refused with the path', async (t) => {
  t.match(
    refusalOf(() => resolved({ A: '${B}', B: '${C}', C: '${A}' })),
    { message: '"A" refers to itself (A → B → C → A).', path: ['A', 'B', 'C', 'A'] },
  );
  t.match(refusalOf(() => resolved({ A: '${A}' })).message, '"A" refers to itself (A → A).');
  t.match(
    refusalOf(() => resolved({ A: 'a${B}', B: '${DB_HOST}' })),
    { message: '"A" refers to "DB_HOST", which is not set (A → B → DB_HOST).', path: ['A', 'B', 'DB_HOST'] },
  );
  for (const name of ['PORT', 'SVC_MODE', 'SVC_TRIGGER']) {
    t.match(refusalOf(() => resolved({ A: `\${${name}}` })).message, /differs between pods/);
    t.match(refusalOf(() => resolved({ [name]: 'x' })).message, /set by the platform/);
    t.match(refusalOf(() => resolved({}, { [name]: 'x' })).message, /set by the platform/);
  }
  t.match(refusalOf(() => resolved({ A: '${constructor}' })).message, /not set/, 'not a valid name');
});

t.test('the names that a value refers to', async (t) => {
  t.same(referencesOf('${A}$${B}-${C_1}${'), ['A', 'C_1']);
});

t.test('names', async (t) => {
  for (const name of ['A', '_', '_a9', 'lower', 'a'.repeat(200)]) t.equal(checkVariableName(name), name);
  for (const name of ['', '9A', 'A-B', 'A.B', 'A B', 'Ä', 'A\n', 'A=B', 'a'.repeat(201)]) {
    t.match(refusalOf(() => checkVariableName(name)).message, /valid variable name/, name);
  }
});

t.test('bounds', async (t) => {
  t.equal(checkVariableValue('A', 'x'.repeat(valueMaxBytes)).length, valueMaxBytes);
  const large = refusalOf(() => checkVariableValue('A', 'ü'.repeat(valueMaxBytes / 2 + 1)));
  t.equal(large.message, 'The value of "A" is larger than 64 KiB.');
  t.match(refusalOf(() => resolved({ A: 'a\0b' })).message, /NUL/);
  const many = (count: number, value = 'x') =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`N${index}`, value]));
  t.equal(Object.keys(resolved(many(200), { S: 's' })).length, 201);
  t.equal(Object.keys(resolved({ V: 'v' }, many(200))).length, 201);
  t.match(refusalOf(() => resolved(many(201))).message, /at most 200/);
  t.match(refusalOf(() => resolved({}, many(201))).message, /at most 200/);
  t.match(refusalOf(() => resolved(many(20, 'x'.repeat(30_000)))).message, /600\d\d\d bytes; the limit is 512 KiB/);
  // Ten references each, twelve levels: a million megabytes if it were ever expanded.
  const bomb = Object.fromEntries(
    Array.from({ length: 12 }, (_, depth) => [
      `L${depth}`,
      depth === 11 ? 'x'.repeat(100) : `\${L${depth + 1}}`.repeat(10),
    ]),
  );
  t.match(refusalOf(() => resolved(bomb)).message, /larger than 64 KiB/);
  // 600 MB, more than a string can have.
  const wide = { V: 'x'.repeat(60_000), W: '${V}'.repeat(10_000) };
  t.equal(refusalOf(() => resolved(wide)).message, 'The value of "W" is larger than 64 KiB.');
});

t.test('the digest depends on the contents, and on nothing else', async (t) => {
  const one = [
    { name: 'A', value: '1' },
    { name: 'B', value: '2' },
  ];
  t.match(environmentDigest(one), /^[0-9a-f]{16}$/);
  t.equal(environmentDigest(one.toReversed()), environmentDigest(one));
  t.not(environmentDigest(one, 'salt'), environmentDigest(one));
  t.not(environmentDigest([{ name: 'A', value: '1B2' }]), environmentDigest(one));
  t.not(environmentDigest([{ name: 'A', value: '1' }]), environmentDigest(one));
});

t.test('an environment has at most 512 KiB of names and values', async (t) => {
  const values = (last: number) => ({
    ...Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`A${index}`, 'x'.repeat(64 * 1024)])),
    LAST: 'x'.repeat(last),
  });
  // Seven names of two bytes, and LAST.
  const rest = 64 * 1024 - 7 * 2 - 4;
  t.equal(Object.keys(resolved(values(rest))).length, 8);
  t.throws(() => resolved(values(rest + 1)), { code: 'invalid_value', details: { field: 'env' } });
});
