import { join } from 'node:path';
import { build } from 'vite';

const root = join(import.meta.dirname, '../..');

/** Every command loads these. The other packages stay dependencies: some need files that are not modules. */
const bundledPackages = ['cac', 'zod'];

/**
 * Writes the command line as JavaScript in few modules: most of the time of a short command is the loading of modules, for
 * each of which Node.js needs about half a millisecond. Commands that are loaded on use stay modules of their own.
 * @param folder gets `main.js` and what it loads, and the licenses of the packages in it
 * @returns the packages that the modules import
 */
export async function bundleCommandLine(folder: string): Promise<string[]> {
  const result = await build({
    configFile: false,
    root,
    logLevel: 'error',
    mode: 'production',
    ssr: { noExternal: bundledPackages },
    build: {
      ssr: 'cli/main.ts',
      outDir: folder,
      target: 'node24',
      minify: false,
      license: { fileName: 'licenses.md' },
      rolldownOptions: {
        // Comments name the modules relative to it.
        cwd: root,
        output: {
          chunkFileNames: 'modules/[name].js',
          // What most commands load is one module.
          codeSplitting: { groups: [{ name: 'common', minShareCount: 30 }] },
        },
      },
    },
  });
  const chunks = [result]
    .flat()
    .flatMap((each) => ('output' in each ? each.output : []))
    .filter((output) => output.type === 'chunk');
  const written = new Set(chunks.map(({ fileName }) => fileName));
  const imported = chunks.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports]);
  const packages = imported.filter((name) => !written.has(name) && !name.startsWith('node:')).map(packageOf);
  return [...new Set(packages)].toSorted();
}

/** The package of `yaml/util` or `@scope/name/part`. */
function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}
