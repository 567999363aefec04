import { renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build, type Plugin } from 'vite';
import { tapBundle } from './tap-bundle.ts';

/** Writes tap and the 300 modules that it loads as one module, which processes load with half of the work. */
const require = createRequire(import.meta.url);

/** Makes texts of React elements, which no test compares. It names its module in a way that a bundle cannot follow. */
const reactTexts: Plugin = {
  name: 'react-texts',
  enforce: 'pre',
  load: (id) => (/tcompare\/.*\/react-element-to-jsx-string\.js$/.test(id) ? 'export default String;' : undefined),
};

/** For modules in CommonJS. */
const banner = `const __filename = process.getBuiltinModule('node:url').fileURLToPath(import.meta.url);
const __dirname = process.getBuiltinModule('node:path').dirname(__filename);`;

const result = await build({
  configFile: false,
  root: join(import.meta.dirname, '../..'),
  logLevel: 'error',
  plugins: [reactTexts],
  // `preload.ts` replaces this one.
  ssr: { noExternal: true, external: ['async-hook-domain'] },
  build: {
    write: false,
    ssr: require.resolve('tap'),
    minify: false,
    rollupOptions: { output: { codeSplitting: false, banner } },
  },
});
const [chunk] = [result].flat().flatMap((each) => ('output' in each ? each.output : []));
if (chunk?.type !== 'chunk') throw new Error('the bundle of tap has no module');
// Test processes that run meanwhile find none, or the whole.
const part = `${tapBundle}.${process.pid}`;
writeFileSync(part, chunk.code);
renameSync(part, tapBundle);
