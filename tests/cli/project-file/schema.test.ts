import { readFileSync } from 'node:fs';
import t from 'tap';
import { projectFileSchema } from '../../../runtime/contracts/project-file.ts';

t.test('the JSON Schema in the documentation is that of the code; write it with svc schema', (t) => {
  const file = new URL('../../../docs/reference/svc.schema.json', import.meta.url);
  t.same(JSON.parse(readFileSync(file, 'utf8')), JSON.parse(JSON.stringify(projectFileSchema())));
  t.end();
});
