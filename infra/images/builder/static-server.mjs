/**
 * The server of a static site's image: serves the files that the folder had when it started, and nothing else, since a request's
 * path only selects one of them. `404.html` answers unknown paths.
 */
import { createReadStream, readdirSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, resolve } from 'node:path';

const types = {
  '.avif': 'image/avif',
  '.css': 'text/css; charset=utf-8',
  '.csv': 'text/csv; charset=utf-8',
  '.gif': 'image/gif',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.md': 'text/markdown; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.mp4': 'video/mp4',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
  '.webp': 'image/webp',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
  '.xml': 'application/xml',
};

const root = resolve(process.argv[2] ?? '.');

/** The paths of a request with their files. Files and folders that begin with a dot are private, except `.well-known`. */
function index(folder, path, files = new Map()) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name.startsWith('.') && entry.name !== '.well-known') continue;
    const file = join(folder, entry.name);
    // The embedded cluster links to what is in the image's folder; deeper, a link to a folder could be a circle.
    const status = statSync(file, { throwIfNoEntry: false });
    const isFolder = entry.isDirectory() || (path === '/' && status?.isDirectory());
    if (isFolder) index(file, `${path}${entry.name}/`, files);
    else if (status?.isFile()) {
      const { size, mtime } = status;
      const page = { file, size, etag: `"${size.toString(36)}-${mtime.getTime().toString(36)}"` };
      files.set(`${path}${entry.name}`, page);
      if (entry.name === 'index.html') files.set(path, page);
      else if (entry.name.endsWith('.html')) files.set(`${path}${entry.name.slice(0, -5)}`, page);
    }
  }
  return files;
}

const files = index(root, '/');

function pathOf(url) {
  try {
    return decodeURIComponent(url.split('?', 1)[0]);
  } catch {
    return undefined;
  }
}

const server = createServer((request, response) => {
  request.resume();
  const { method, url = '/' } = request;
  if (method !== 'GET' && method !== 'HEAD') {
    response.writeHead(405, { Allow: 'GET, HEAD' }).end();
    return;
  }
  const path = pathOf(url);
  const page = files.get(path);
  if (!page && files.has(`${path}/`)) {
    // Relative links in the folder's index need the slash. Encoded again, the path cannot contain a line end.
    response.writeHead(308, { Location: `${encodeURI(path).replace(/^\/+/, '/')}/` }).end();
    return;
  }
  const sent = page ?? files.get('/404.html');
  if (!sent) {
    response.writeHead(404, { 'Content-Type': 'text/plain; charset=utf-8' }).end('Not found\n');
    return;
  }
  const headers = {
    'Content-Type': types[extname(sent.file).toLowerCase()] ?? 'application/octet-stream',
    'Cache-Control': 'no-cache',
    ETag: sent.etag,
  };
  if (page && request.headers['if-none-match'] === sent.etag) {
    response.writeHead(304, headers).end();
    return;
  }
  response.writeHead(page ? 200 : 404, { ...headers, 'Content-Length': sent.size });
  if (method === 'HEAD') response.end();
  else
    createReadStream(sent.file)
      .on('error', () => response.destroy())
      .pipe(response);
});

process.once('SIGTERM', () => server.close());
server.listen(Number(process.env.PORT ?? 8080), () => {
  const count = new Set([...files.values()].map(({ file }) => file)).size;
  process.stdout.write(`serving ${count} ${count === 1 ? 'file' : 'files'}\n`);
});
