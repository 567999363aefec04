import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { readTools } from '../../runtime/assistant/read-tools.ts';
import { writeTools } from '../../runtime/assistant/write-tools.ts';

const text = readFileSync(join(import.meta.dirname, '../../docs/reference/tools.md'), 'utf8');

t.test('the reference names every tool with its kinds and what a model reads about it', (t) => {
  const rows = [...text.matchAll(/^\| `([a-z_]+)` +\| (.*?) +\| (.*?) +\|$/gm)].map((match) => match.slice(1));
  const tools = [...readTools, ...writeTools];
  const expected = tools.map(({ name, kinds = [], description }) => [name, kinds.join(', '), description]);
  t.same(
    rows.map((cells) => cells.join(' | ')),
    expected.map((cells) => cells.join(' | ')),
  );
  t.end();
});
