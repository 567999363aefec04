import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { mutantsOf } from './mutants.ts';

/** A survivor whose line was changed since has to be judged again, so `survivors.json` may not keep it. */
const root = join(import.meta.dirname, '../..');
const survivors = JSON.parse(readFileSync(join(import.meta.dirname, 'survivors.json'), 'utf8')) as Record<
  string,
  string
>;

t.test('every accepted survivor is a change that the script still makes, and has a reason', (t) => {
  const keys = Object.keys(survivors);
  const files = [...new Set(keys.map((key) => key.slice(0, key.indexOf(': '))))].filter((file) =>
    existsSync(join(root, file)),
  );
  const current = new Set(
    files.flatMap((file) => mutantsOf(file, readFileSync(join(root, file), 'utf8')).map(({ key }) => key)),
  );
  t.same(
    keys.filter((key) => !current.has(key)),
    [],
  );
  t.same(
    keys.filter((key) => !survivors[key]?.endsWith('.')),
    [],
  );
  t.same(keys, keys.toSorted(), 'in order');
  t.end();
});
