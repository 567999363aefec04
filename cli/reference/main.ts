import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import packageFile from '../../package.json' with { type: 'json' };
import { rootGroup } from '../commands/root.ts';
import { documentsOf } from './documents.ts';

/** `npm run docs`: writes the documents that are generated from the definitions of the commands. */
for (const [file, content] of Object.entries(await documentsOf(rootGroup, packageFile.version))) {
  writeFileSync(join(import.meta.dirname, '../..', file), content);
}
