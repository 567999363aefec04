import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootGroup } from '../commands/root.ts';
import { documentsOf } from './documents.ts';

/** `npm run docs`: writes the documents that are generated from the definitions of the commands. */
const root = join(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
for (const [file, content] of Object.entries(await documentsOf(rootGroup, version))) {
  writeFileSync(join(root, file), content);
}
