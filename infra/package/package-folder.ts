import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleCommandLine } from './bundle.ts';

const root = join(import.meta.dirname, '../..');

/** Needed by one command alone (`svc install`) and larger than all others together, so it is installed on request. */
const optionalPackages = ['@kubernetes/client-node'];

interface RootPackage {
  name: string;
  version: string;
  description: string;
  license: string;
  type: string;
  bin: object;
  man: string;
  dependencies: Readonly<Record<string, string>>;
}

/**
 * Writes the npm package of the command line into a folder: the launcher, the modules that it loads, and a manifest that
 * depends on the packages which these import, and on no others.
 */
export async function writePackageFolder(folder: string): Promise<void> {
  const { name, version, description, license, type, bin, man, dependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  ) as RootPackage;
  const imported = await bundleCommandLine(join(folder, 'dist/cli'));
  cpSync(join(root, 'cli/completions'), join(folder, 'dist/cli/completions'), { recursive: true });
  for (const file of ['cli/svc.js', 'docs/svc.1', 'LICENSE', 'README.md']) {
    mkdirSync(join(folder, file, '..'), { recursive: true });
    copyFileSync(join(root, file), join(folder, file));
  }
  const versions = (names: readonly string[]) => Object.fromEntries(names.map((item) => [item, dependencies[item]]));
  const optional = imported.filter((item) => optionalPackages.includes(item));
  const manifest = {
    name,
    version,
    description,
    license,
    type,
    bin,
    man,
    engines: { node: '>=24' },
    dependencies: versions(imported.filter((item) => !optional.includes(item))),
    peerDependencies: versions(optional),
    peerDependenciesMeta: Object.fromEntries(optional.map((item) => [item, { optional: true }])),
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
}
