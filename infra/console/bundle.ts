import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { build } from 'vite';

/** Builds the web console into a folder: `node infra/console/bundle.ts <folder>`. */
const [target] = process.argv.slice(2);
if (target === undefined) throw new Error('usage: node infra/console/bundle.ts FOLDER');

await build({
  configFile: false,
  root: join(import.meta.dirname, '../../functions/console/ui'),
  logLevel: 'warn',
  mode: 'production',
  plugins: [react(), tailwind()],
  build: {
    outDir: target,
    emptyOutDir: true,
    target: 'es2023',
    // The page's policy allows neither inline scripts nor files as data.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});

const [compressBrotli, compressGzip] = [promisify(brotliCompress), promisify(gzip)];
const brotliQuality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };

/** Writes the file also as `.br` and `.gz`, where they are smaller: console-api compresses nothing itself. */
async function compress(file: string): Promise<void> {
  const content = readFileSync(file);
  const packed = {
    '.br': await compressBrotli(content, brotliQuality),
    '.gz': await compressGzip(content, { level: 9 }),
  };
  for (const [suffix, bytes] of Object.entries(packed)) {
    if (bytes.length < content.length) writeFileSync(`${file}${suffix}`, bytes);
  }
}

const files = readdirSync(target, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
await Promise.all(files.map((entry) => compress(join(entry.parentPath, entry.name))));
