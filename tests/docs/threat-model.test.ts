import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/explanation/threat-model.md'), 'utf8');
/** The rows of the table of boundaries. */
const rows = page.split('\n').filter((line) => line.startsWith('|') && line.includes('tests/'));
const named = new Set(rows.flatMap((row) => [...row.matchAll(/`(tests\/[\w./-]+)`/g)].map(([, path = '']) => path)));

t.test('each claim of the threat model names the tests that attack it, and they exist', (t) => {
  t.ok(rows.length > 30);
  for (const row of rows) t.match(row, /^\| [^|]+ \| (`tests\/[\w./-]+`(, )?)+ +\|$/);
  t.same(
    [...named].filter((path) => !existsSync(join(root, path))),
    [],
  );
  t.end();
});

t.test('each file of attacks belongs to a claim', (t) => {
  const files = readdirSync(join(root, 'tests/attacks')).filter((name) => name.endsWith('.test.ts'));
  t.same(
    files.map((name) => `tests/attacks/${name}`).filter((path) => !named.has(path)),
    [],
  );
  t.end();
});
