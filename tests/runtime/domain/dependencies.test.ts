import t from 'tap';
import { parseDependencies } from '../../../runtime/domain/dependencies.ts';

t.test('packages of npm and PyPI at exact versions', (t) => {
  for (const entry of ['lodash@4.17.21', '@scope/pkg.js@0.1.0-rc.1+build.5', 'JSONStream@1.3.5', 'a@1.0.0']) {
    const at = entry.indexOf('@', 1);
    t.same(parseDependencies([entry], 'node'), [{ name: entry.slice(0, at), version: entry.slice(at + 1) }]);
  }
  for (const entry of ['requests@2.32.3', 'psycopg[binary,pool]@3.2', 'ruamel.yaml@0.18.6', 'a@1!2.0rc1.post2.dev3']) {
    const [name, version] = entry.split('@');
    t.same(parseDependencies([entry], 'python'), [{ name, version }]);
  }
  t.end();
});

t.test('an entry has at most 250 characters, and messages show its beginning', (t) => {
  const entry = `p${'a'.repeat(245)}@1.0`;
  t.equal(parseDependencies([entry], 'python').length, 1);
  t.throws(() => parseDependencies([`p${entry}`], 'python'), {
    message: `"pp${'a'.repeat(98)}" is not a package of PyPI; use name@version, such as requests@2.32.3.`,
    details: { dependency: /^.{250}$/ },
  });
  t.end();
});

t.test('no other text reaches an installer', (t) => {
  const either = [
    'lodash',
    'lodash@',
    'lodash@latest',
    'lodash@*',
    'lodash@>=1',
    'lodash@1.x',
    '@1.0.0',
    '',
    ' a@1.0.0',
    'a@1.0.0 ',
    'x@file:../y',
    'x@/etc',
    'x@git+https://a.test/b',
    'x@github:a/b',
    'x@https://a.test/x.tgz',
    'x@npm:y@1.0.0',
    '--registry=http://a.test@1.0.0',
    '-e@1.0.0',
    '-r@1.0.0',
    '../x@1.0.0',
    '/x@1.0.0',
    '.x@1.0.0',
    '_x@1.0.0',
    'https://a.test/x.tgz',
    'name @ https://a.test/x.whl',
    'x@1.0.0; rm -rf /',
    'x@$(id)',
    'x@1.0.0\n-e .',
    'x\n@1.0.0',
    'node_modules@1.0.0',
    'ü@1.0.0',
    `${'a'.repeat(260)}@1.0.0`,
    'x@1.0.0 --index-url http://a.test',
  ];
  for (const runtime of ['node', 'python'] as const) {
    for (const entry of either) {
      t.throws(() => parseDependencies([entry], runtime), { code: 'invalid_dependency' }, `${runtime}: ${entry}`);
    }
  }
  for (const entry of ['x@^1.0.0', 'x@1.0', 'x@01.0.0', '@a/b/c@1.0.0', '@/b@1.0.0', 'a[b]@1.0.0']) {
    t.throws(() => parseDependencies([entry], 'node'), { code: 'invalid_dependency' }, entry);
  }
  for (const entry of ['x@~=1.0', 'x@1.0+local', '@a/b@1.0', 'x[@1.0', 'x[a;b]@1.0', 'x-@1.0', 'x@1.0-1']) {
    t.throws(() => parseDependencies([entry], 'python'), { code: 'invalid_dependency' }, entry);
  }
  t.throws(() => parseDependencies(['a@1.0.0', 'a@2.0.0'], 'node'), { message: /listed twice/ });
  t.throws(() => parseDependencies(['Ruamel_Yaml@1.0', 'ruamel.yaml[a]@1.0'], 'python'), { message: /listed twice/ });
  t.end();
});
