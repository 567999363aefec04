import { join } from 'node:path';
import { build, type Plugin } from 'vite';

const root = join(import.meta.dirname, '../..');

/** Every command loads these. The other packages stay as they are, some with files that are no modules. */
const bundledPackages = ['cac', 'zod'];

/** zod's messages in 60 languages, which `cli/svc.js` does not load either. */
const noLocales: Plugin = {
  name: 'no-locales',
  enforce: 'pre',
  resolveId: (specifier, importer) =>
    specifier === '../locales/index.js' && importer?.includes('/node_modules/zod/') ? '\0no-locales' : undefined,
  load: (id) => (id === '\0no-locales' ? 'export {};' : undefined),
};

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
    plugins: [noLocales],
    ssr: { noExternal: bundledPackages },
    build: {
      ssr: 'cli/main.ts',
      outDir: folder,
      target: 'node24',
      minify: false,
      license: { fileName: 'licenses.md' },
      rolldownOptions: {
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
