import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';

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
 * Writes the npm package of the command line into a folder: the launcher, the compiled modules that it reaches, and a
 * manifest that depends on the packages which these import, and on no others.
 */
export function writePackageFolder(folder: string): void {
  const { name, version, description, license, type, bin, man, dependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  ) as RootPackage;
  const compiled = join(folder, 'dist');
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, '--project', 'tsconfig.package.json', '--outDir', compiled], { cwd: root });
  cpSync(join(root, 'cli/completions'), join(compiled, 'cli/completions'), { recursive: true });
  for (const file of ['cli/svc.js', 'docs/svc.1', 'LICENSE', 'README.md']) {
    mkdirSync(join(folder, file, '..'), { recursive: true });
    copyFileSync(join(root, file), join(folder, file));
  }
  const imported = importedPackages(compiled);
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

/** The packages that compiled modules import, sorted. */
function importedPackages(folder: string): string[] {
  const names = new Set<string>();
  for (const file of globSync('**/*.js', { cwd: folder })) {
    const code = readFileSync(join(folder, file), 'utf8');
    for (const [, specifier = ''] of code.matchAll(/^(?:import|export)\b[^;]*?from '([^'.][^']*)';/gm)) {
      if (!isBuiltin(specifier)) names.add(packageOf(specifier));
    }
    for (const [, specifier = ''] of code.matchAll(/\bimport\('([^'.][^']*)'\)/g)) names.add(packageOf(specifier));
  }
  return [...names].toSorted();
}

/** The package of `yaml/util` or `@scope/name/part`. */
function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}
