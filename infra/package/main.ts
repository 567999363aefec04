import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writePackageFolder } from './package-folder.ts';

/** `npm run package`: writes the npm package of the command line, `svc-<version>.tgz`, into the current folder. */
const folder = mkdtempSync(join(tmpdir(), 'svc-package-'));
try {
  await writePackageFolder(folder);
  execFileSync('npm', ['pack', '--pack-destination', process.cwd(), folder], { stdio: 'inherit' });
} finally {
  rmSync(folder, { recursive: true });
}
