import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { symlinkSync } from 'node:fs';
import t from 'tap';
import { addStaticServer } from '../../../../infra/images/builder/static-site.ts';
import { freePort } from '../../../support/servers.ts';

t.test('a static site serves its files, and nothing else', async (t) => {
  const outside = t.testdir({
    'secret.txt': 'outside',
    site: {
      'index.html': '<h1>home</h1>',
      'about.html': 'about',
      '404.html': 'not here',
      assets: { 'a b.css': 'p {}', 'index.html': 'assets' },
      '.env': 'PASSWORD=1',
      '.git': { config: 'x' },
      '.well-known': { 'security.txt': 'contact' },
      svc: {},
    },
  });
  const folder = join(outside, 'site');
  addStaticServer(folder);
  // As the embedded cluster runs an image, and a circle.
  symlinkSync(folder, join(outside, 'linked'));
  symlinkSync('..', join(folder, 'assets/up'));
  const port = await freePort();
  const server = spawn(process.execPath, [join(folder, '.svc/static-server.mjs')], {
    cwd: join(outside, 'linked'),
    env: { PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => server.kill('SIGKILL'));
  t.match(await once(server.stdout, 'data'), [/^serving 6 files\n$/]);
  const get = async (path: string, options: { method?: string; headers?: Record<string, string> } = {}) => {
    const sent = request({ port, host: '127.0.0.1', path, ...options }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return { status: response.statusCode, headers: response.headers, body: await text(response) };
  };
  const home = await get('/');
  t.match(home, { status: 200, body: '<h1>home</h1>', headers: { 'content-type': 'text/html; charset=utf-8' } });
  t.match(await get('/', { headers: { 'if-none-match': String(home.headers.etag) } }), { status: 304, body: '' });
  t.match(await get('/about?x=1'), { status: 200, body: 'about' });
  t.match(await get('/assets/a%20b.css'), { status: 200, headers: { 'content-type': 'text/css; charset=utf-8' } });
  t.match(await get('/assets'), { status: 308, headers: { location: '/assets/' } });
  t.match(await get('/assets/'), { status: 200, body: 'assets' });
  t.match(await get('/.well-known/security.txt'), { status: 200 });
  t.match(await get('/', { method: 'HEAD' }), { status: 200, body: '' });
  t.match(await get('/', { method: 'POST' }), { status: 405 });
  for (const path of [
    '/.env',
    '/.git/config',
    '/.svc/static-server.mjs',
    '/../secret.txt',
    '/%2e%2e/secret.txt',
    '/assets/up/secret.txt',
    '/%00',
    '/%',
    '//evil.test/%2f..',
  ]) {
    t.match(await get(path), { status: 404, body: 'not here' }, path);
  }
  server.kill('SIGTERM');
  t.same(await once(server, 'exit'), [0, null], 'it ends by itself');
});

t.test('a site of one file is counted as one', async (t) => {
  const folder = t.testdir({ 'index.html': 'home' });
  addStaticServer(folder);
  const server = spawn(process.execPath, [join(folder, '.svc/static-server.mjs')], {
    cwd: folder,
    env: { PORT: String(await freePort()) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => server.kill('SIGKILL'));
  t.match(await once(server.stdout, 'data'), [/^serving 1 file\n$/]);
});
