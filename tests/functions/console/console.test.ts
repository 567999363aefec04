import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { z } from 'zod';
import { readConsoleAssets } from '../../../functions/console/assets.ts';
import { createConsoleSite } from '../../../functions/console/handler.ts';
import { buildConsole, consoleFolder } from '../../../infra/console/build.ts';
import { route } from '../../../runtime/http/route.ts';
import { testApi } from '../../support/api.ts';

const page = '<!doctype html><title>console</title>';
const script = 'console.log("the console");'.repeat(50);
const name = 'main-C0ffee12.js';

/** A small build in a folder, with a file outside it. */
function builtFolder(t: Test): string {
  const folder = t.testdir({
    'secret.js': 'outside',
    dist: {
      'index.html': page,
      'index.html.gz': gzipSync(page),
      digest: 'not for browsers',
      assets: { [name]: script, [`${name}.gz`]: gzipSync(script), 'notes.txt': 'not for browsers' },
    },
  });
  return join(folder, 'dist');
}

const show = route({
  method: 'POST',
  path: '/things',
  access: 'session',
  summary: 'Creates a thing.',
  tag: 'things',
  replies: { 201: z.object({}) },
  handle: () => Promise.resolve({ status: 201, body: {} }),
});

async function serve(t: Test, { folder = builtFolder(t), baseUrl = 'http://console.test' } = {}) {
  const site = createConsoleSite({ assets: readConsoleAssets(folder), baseUrl });
  return testApi(t, { routes: [show], site, baseUrl });
}

/** A request with exactly this path, which fetch would normalise, and with exactly these headers. */
async function raw(url: string, path: string, headers: Record<string, string> = {}, method = 'GET') {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; type: string; body: string }>();
  const outgoing = request(url, { path, headers, method }, (response) => {
    const { statusCode = 0, headers: received } = response;
    text(response).then((body) => resolve({ status: statusCode, type: received['content-type'] ?? '', body }), reject);
  });
  outgoing.once('error', reject).end();
  return promise;
}

t.test('the page is served at the root, and where a browser navigates to', async (t) => {
  const { url, ...api } = await serve(t);
  for (const [path, headers] of [
    ['/', {}],
    ['/?next=x', { accept: '*/*' }],
    ['/projects/shop', { accept: 'text/html,application/xhtml+xml' }],
    ['/projects/shop', { 'sec-fetch-mode': 'navigate' }],
  ] as const) {
    const { status, type, body } = await raw(url, path, headers);
    t.match({ status, type, body }, { status: 200, type: 'text/html; charset=utf-8', body: page }, path);
  }
  t.match(await raw(url, '/', {}, 'HEAD'), { status: 200, body: '' });
  const { headers } = await api.call('GET', '/');
  t.match(headers.get('content-security-policy'), /^default-src 'none'; script-src 'self'; style-src 'self'; /);
  t.match(headers.get('content-security-policy'), /require-trusted-types-for 'script'; trusted-types 'none'/);
  t.notMatch(headers.get('content-security-policy'), /unsafe|https?:|\*/);
  t.equal(headers.get('x-content-type-options'), 'nosniff');
  t.equal(headers.get('x-frame-options'), 'DENY');
  t.equal(headers.get('cache-control'), 'private, no-cache');
  t.equal(headers.get('strict-transport-security'), null);
});

t.test('behind https, browsers use only https and share nothing with other windows', async (t) => {
  const api = await serve(t, { baseUrl: 'https://console.test' });
  const { headers } = await api.call('GET', '/');
  t.match(headers.get('strict-transport-security'), /max-age=/);
  t.equal(headers.get('cross-origin-opener-policy'), 'same-origin');
});

t.test('scripts, tools and paths of the API get no page', async (t) => {
  const { url, ...api } = await serve(t);
  const navigation = { accept: 'text/html', 'sec-fetch-mode': 'navigate' };
  for (const [path, headers] of [
    ['/projects/shop', {}],
    ['/projects/shop', { accept: 'text/html', 'sec-fetch-mode': 'no-cors' }],
    ['/favicon.ico', { accept: 'image/*' }],
    ['/api/v1/unknown', navigation],
    ['/api', navigation],
    ['/health/unknown', navigation],
    ['/assets/unknown.js', navigation],
    ['/assets', navigation],
    ['/assets/', navigation],
  ] as const) {
    const { status, type, body } = await raw(url, path, headers);
    t.match({ status, type, body }, { status: 404, type: /json/, body: /"not_found"/ }, path);
  }
  t.equal((await api.call('POST', '/')).status, 404, 'only GET and HEAD');
  t.match((await api.call('GET', '/api/v1/things')).body, { code: 'method_not_allowed' });
  t.equal((await api.call('POST', '/api/v1/things')).status, 201);
});

t.test('no path leads out of the folder, or to a file that is not part of the page', async (t) => {
  const { url } = await serve(t);
  for (const path of [
    '/assets/../../secret.js',
    '/assets/..%2f..%2fsecret.js',
    '/assets/%2e%2e/%2e%2e/secret.js',
    String.raw`/assets/..\..\secret.js`,
    '/assets/../digest',
    '/assets/notes.txt',
    '/assets/constructor',
    '/assets/__proto__',
    `/assets/${name}.gz`,
    `/assets/${name}/`,
    `/assets//${name}`,
    `/assets/${'a'.repeat(10_000)}`,
  ]) {
    const { status, body } = await raw(url, path, { accept: 'text/html' });
    t.equal(status, 404, path.slice(0, 60));
    t.notMatch(body, /outside|not for browsers/);
  }
});

t.test('an asset is kept forever, and sent in the smallest encoding that the client takes', async (t) => {
  const { url } = await serve(t);
  const fetched = async (headers: Record<string, string>) => {
    const response = await fetch(`${url}/assets/${name}`, { headers });
    return { headers: response.headers, body: await response.text() };
  };
  const packed = await fetched({ 'accept-encoding': 'br;q=1, gzip' });
  t.equal(packed.headers.get('content-encoding'), 'gzip', 'the folder has no file for br');
  t.equal(packed.headers.get('content-type'), 'text/javascript; charset=utf-8');
  t.equal(packed.headers.get('cache-control'), 'public, max-age=31536000, immutable');
  t.match(packed.headers.get('vary'), /Accept-Encoding/);
  t.equal(packed.body, script);
  for (const refusal of ['gzip;q=0', 'gzip; q=0.0', 'identity', ''])
    t.equal((await fetched({ 'accept-encoding': refusal })).headers.get('content-encoding'), null, refusal);

  const etag = packed.headers.get('etag') ?? '';
  const plain = await fetched({ 'accept-encoding': 'identity' });
  t.not(plain.headers.get('etag'), etag, 'each encoding has its own validator');
  const again = await fetch(`${url}/assets/${name}`, {
    headers: { 'accept-encoding': 'gzip', 'if-none-match': `"other", W/${etag}` },
  });
  t.equal(again.status, 304);
  t.equal(again.headers.get('etag'), etag);
  t.equal(await again.text(), '');
});

t.test('without a build, the root says how to make one', async (t) => {
  const { url } = await serve(t, { folder: join(builtFolder(t), 'none') });
  t.match(await raw(url, '/'), { status: 404, type: /json/, body: /npm run console/ });
});

t.test('the built console is small, precompressed, and free of inline code', async (t) => {
  await buildConsole((line) => t.comment(line));
  const assets = readConsoleAssets(consoleFolder);
  if (!assets) throw new Error('the console was not built');
  const html = assets.page.content.identity.toString();
  const named = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, path = '']) => path);
  t.same(
    named.filter((path) => !assets.assets.has(path.replace(/^\/assets\//, ''))),
    [],
    'the page loads nothing but its own assets',
  );
  t.notMatch(html, /<script(?![^>]*src=)|<style|\son\w+=|style="/);
  t.ok(
    named.every((path) => /-[\w-]{8}\.\w+$/.test(path)),
    'each name has a digest',
  );

  /** What a browser loads before it shows a page: what the page names, and what these scripts import. */
  const first = new Set(named.map((path) => path.replace('/assets/', '')));
  for (const file of first) {
    const code = assets.assets.get(file)?.content.identity.toString() ?? '';
    for (const [, other = ''] of code.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)) first.add(other);
  }
  const bytes = [...first].reduce(
    (sum, file) => sum + (assets.assets.get(file)?.content.gzip?.length ?? 0),
    assets.page.content.gzip?.length ?? 0,
  );
  t.comment(
    `figure console.first-load ${Math.round(bytes / 1024)} KB target <=200 ${bytes <= 204_800 ? 'ok' : 'short'}`,
  );
  t.ok(bytes > 10_000 && bytes <= 200 * 1024, `${bytes} bytes`);

  for (const [file, { content }] of assets.assets) {
    const { identity, br, gzip } = content;
    if (br) t.ok(brotliDecompressSync(br).equals(identity), file);
    if (gzip) t.ok(gunzipSync(gzip).equals(identity), file);
    if (/\.(js|css)$/.test(file) && identity.length > 2_000) t.ok(br && gzip, file);
    t.notMatch(identity.toString('latin1'), /sourceMappingURL|new Function\(|\beval\(/, `${file} runs no text`);
  }
  t.ok(readdirSync(consoleFolder).includes('digest'));
  const before = readFileSync(join(consoleFolder, 'index.html'), 'utf8');
  await buildConsole(() => t.fail('equal sources are not built again'));
  t.equal(readFileSync(join(consoleFolder, 'index.html'), 'utf8'), before);
});
