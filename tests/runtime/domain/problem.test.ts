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

t.test('the body has the details but not the cause, which is for operators', async (t) => {
  const cause = new Error('secret');
  const problem = new Problem('in_use', 'It is used.', { cause, details: { by: 'api' } });
  t.equal(problem.cause, cause);
  t.same(problem.body(), { code: 'in_use', message: 'It is used.', details: { by: 'api' } });
  const plain = new Problem('in_use', 'It is used.');
  t.same(plain.body(), { code: 'in_use', message: 'It is used.' });
  t.notOk('cause' in plain);
});
