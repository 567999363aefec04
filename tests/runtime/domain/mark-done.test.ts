import t from 'tap';
import { namesId, parameterizeId, withoutEnd } from '../../../runtime/domain/mark-done.ts';

t.test('the id is a parameter of the statement, never a part of it', async (t) => {
  for (const [statement, text, parameters] of [
    ['UPDATE a SET b = 1 WHERE id = {{id}}', 'UPDATE a SET b = 1 WHERE id = $1', 1],
    [`DELETE FROM a WHERE id = '{{ id }}' OR "{{id}}" = b; `, 'DELETE FROM a WHERE id = $1 OR $2 = b', 2],
    ['UPDATE a SET b = 1', 'UPDATE a SET b = 1', 0],
  ] as const) {
    t.same(
      parameterizeId(statement, (n) => `$${n}`),
      { text, parameters },
    );
    t.equal(namesId(statement), parameters > 0, statement);
  }
  t.ok(namesId('{{id}}'), 'at the beginning');
  t.equal(withoutEnd('SELECT 1 ;; \n'), 'SELECT 1');
});
