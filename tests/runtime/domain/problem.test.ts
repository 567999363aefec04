import { readFileSync } from 'node:fs';
import t from 'tap';
import { Problem, problemStatus } from '../../../runtime/domain/problem.ts';

t.test('every code has the status that the reference documents', async (t) => {
  const text = readFileSync(new URL('../../../docs/reference/api.md', import.meta.url), 'utf8');
  const rows = [...text.matchAll(/^\| (\d{3}) +\| (.*) \|$/gm)];
  const documented = rows.flatMap(([, status, codes = '']) =>
    [...codes.matchAll(/`([a-z_]+)`/g)].map(([, code]) => [code, Number(status)] as const),
  );
  t.same(Object.fromEntries(documented), problemStatus);
  t.equal(new Problem('in_use', '').status, 409);
});
