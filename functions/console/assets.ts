import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The encodings in which a file is stored, and the one without, in the order of preference. */
const encodings = { br: '.br', gzip: '.gz', identity: '' } as const;

export type Encoding = keyof typeof encodings;

/** One file of the built console, in memory. */
export interface Asset {
  type: string;
  /** A strong validator; each encoding has its own. */
  etag(encoding: Encoding): string;
  /** Absent for encodings that do not make the file smaller. */
  content: Partial<Record<Encoding, Buffer>> & { identity: Buffer };
}

/** The built console. */
export interface ConsoleAssets {
  page: Asset;
  /** By name, such as `main-C0ffee12.js`. A name contains a digest, so its content never changes. */
  assets: ReadonlyMap<string, Asset>;
}

/** Other files are not part of a build. */
const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
};

/**
 * Reads the built console into memory, about 2 MB: requests then read no files, so that no path in a request can name
 * one outside. @returns undefined when the console is not built
 */
export function readConsoleAssets(folder: string): ConsoleAssets | undefined {
  const assetsFolder = join(folder, 'assets');
  let names: string[];
  let page: Asset | undefined;
  try {
    names = readdirSync(assetsFolder);
    page = readAsset(folder, 'index.html', new Set(readdirSync(folder)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const existing = new Set(names);
  const assets = names.flatMap((name): [string, Asset][] => {
    const asset = readAsset(assetsFolder, name, existing);
    return asset ? [[name, asset]] : [];
  });
  return page && { page, assets: new Map(assets) };
}

function readAsset(folder: string, name: string, existing: ReadonlySet<string>): Asset | undefined {
  const type = types[name.slice(name.lastIndexOf('.') + 1)];
  if (type === undefined) return undefined;
  const identity = readFileSync(join(folder, name));
  const digest = createHash('sha256').update(identity).digest('hex').slice(0, 20);
  const compressed = (['br', 'gzip'] as const)
    .filter((encoding) => existing.has(`${name}${encodings[encoding]}`))
    .map((encoding) => [encoding, readFileSync(join(folder, `${name}${encodings[encoding]}`))] as const);
  return {
    type,
    etag: (encoding) => `"${digest}-${encoding}"`,
    content: { ...Object.fromEntries(compressed), identity },
  };
}
