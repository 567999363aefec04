import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import t from 'tap';
import { images } from '../../../../infra/images/catalogue.ts';

const root = join(import.meta.dirname, '../../../..');
const builder = 'infra/images/builder';
const read = (path: string) => readFileSync(join(root, path), 'utf8');

t.test('the image of the builder has every file that its program imports', (t) => {
  const open = readdirSync(join(root, builder)).flatMap((name) => (name.endsWith('.ts') ? [`${builder}/${name}`] : []));
  const imports = new Set<string>();
  for (const file of open) {
    for (const [, path = ''] of read(file).matchAll(/^import (?!type )[^;]*? from '(\.[^']+)'/gm)) {
      const target = posix.join(posix.dirname(file), path);
      if (target.startsWith(`${builder}/`) || imports.has(target)) continue;
      imports.add(target);
      open.push(target);
    }
  }
  const inputs = images.find(({ name }) => name === 'builder')?.inputs ?? [];
  const dockerfile = read(`${builder}/Dockerfile`);
  t.ok(imports.size > 3);
  for (const path of imports) {
    t.ok(inputs.includes(path), `${path} is an input`);
    t.match(dockerfile, path, `${path} is copied`);
  }
  t.end();
});
