import { once } from 'node:events';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { figureLine } from '../bench/figure.ts';
import { allKnow } from '../support/checkers.ts';
import { codeFile } from '../support/code-file.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../support/platform.ts';
import { sendRaw, sentRaw } from '../support/raw-request.ts';

/**
 * Requests that no client library sends, to a gated app and to a function behind the interceptor: none reaches the app
 * without a key, none mixes up the answers of others, and no shared process ends.
 */
const platform = await runningPlatform();
const ingress = new URL(platform.info.ingress);
t.teardown(() => t.comment(figureLine({ name: 'raw-requests.raw', value: sentRaw.requests, unit: 'requests' })));
const { flags } = await testProject(t, platform);
await platform.ok(['app', 'create', 'api', '--image', 'localhost:5000/svc/hello:v1', ...flags]);
await platform.ok(['app', 'gate', 'enable', 'api', ...flags]);
await platform.ok(['plan', 'create', 'wide', '--rate', '1000', '--burst', '1000', ...flags]);
const key = await platform.ok(['key', 'create', '--plan', 'wide', ...flags]);
const { url, id } = await platform.json<{ url: string; id: string }>(['app', 'show', 'api', ...flags]);
const name = uniqueName('raw');
const code = `export const handler = () => ({ from: 'the function' });`;
const file = codeFile(t, 'raw.mjs', code);
await platform.ok(['function', 'create', name, '--code-file', file, '--trigger', 'http', ...flags]);
const view = await platform.json<{ url: string }>(['function', 'show', name, ...flags]);

const ask = (path = '/', headers: Record<string, string> = {}) => platform.request(`${url}${path}`, { headers });
await eventually(
  () => ask(),
  ({ status }) => status === 401,
);
await allKnow(platform, id, key);
await eventually(
  () => platform.request(view.url),
  ({ status }) => status === 200,
);

/** Only the app's own answer contains it. */
const appsAnswer = /"app": ?"hello"/;
const { host, hostname } = new URL(url);
const end = 'Connection: close\r\n\r\n';

/** Requests for a host, each whole and malformed in one way. `{host}` stands for the host. */
const malformed: Readonly<Record<string, string>> = {
  'two hosts, the second another': `GET / HTTP/1.1\r\nHost: {host}\r\nHost: other.test\r\n${end}`,
  'two hosts, the first another': `GET / HTTP/1.1\r\nHost: other.test\r\nHost: {host}\r\n${end}`,
  'a host with a user': `GET / HTTP/1.1\r\nHost: x@{host}\r\n${end}`,
  'a host with a path': `GET / HTTP/1.1\r\nHost: {host}/x\r\n${end}`,
  'a host with a space': `GET / HTTP/1.1\r\nHost: {host} \r\n${end}`,
  'a folded header': `GET / HTTP/1.1\r\nHost: {host}\r\nX-API-Key:\r\n x\r\n${end}`,
  'a space before the colon': `GET / HTTP/1.1\r\nHost : {host}\r\n${end}`,
  'lines without CR': `GET / HTTP/1.1\nHost: {host}\nConnection: close\n\n`,
  'a CR alone': `GET / HTTP/1.1\r\nHost: {host}\r\nX-A: a\rX-API-Key: x\r\n${end}`,
  'a NUL in a header': `GET / HTTP/1.1\r\nHost: {host}\r\nX-A: a\0b\r\n${end}`,
  'HTTP/1.0': `GET / HTTP/1.0\r\nHost: {host}\r\n\r\n`,
  'HTTP/0.9': `GET /\r\n`,
  'HTTP/2.0 in a line': `GET / HTTP/2.0\r\nHost: {host}\r\n${end}`,
  'a method of its own': `GETX / HTTP/1.1\r\nHost: {host}\r\n${end}`,
  'a lower-case method': `options / HTTP/1.1\r\nHost: {host}\r\nAccess-Control-Request-Method: GET\r\n${end}`,
  CONNECT: `CONNECT {host}:80 HTTP/1.1\r\nHost: {host}\r\n${end}`,
  TRACE: `TRACE / HTTP/1.1\r\nHost: {host}\r\n${end}`,
  'OPTIONS *': `OPTIONS * HTTP/1.1\r\nHost: {host}\r\n${end}`,
  'an absolute target': `GET http://{host}/ HTTP/1.1\r\nHost: other.test\r\n${end}`,
  'an absolute target with a user': `GET http://a:b@{host}/ HTTP/1.1\r\nHost: {host}\r\n${end}`,
  'a target with a fragment': `GET /#/../x HTTP/1.1\r\nHost: {host}\r\n${end}`,
  'two lengths': `POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1\r\nContent-Length: 2\r\n${end}ab`,
  'a list of lengths': `POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1, 2\r\n${end}ab`,
  'a negative length': `POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: -1\r\n${end}`,
  'a length with a sign': `POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: +1\r\n${end}a`,
  'an unknown coding': `POST / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: xchunked\r\n${end}0\r\n\r\n`,
  'a coding twice': `POST / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked, chunked\r\n${end}0\r\n\r\n`,
  'a coding with a tab': `POST / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding:\tchunked\r\n${end}0\r\n\r\n`,
  'a chunk of a negative size': `POST / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n${end}-1\r\n\r\n`,
  'a chunk of a huge size': `POST / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n${end}fffffffffffffffff\r\n`,
  'an upgrade to a WebSocket': `GET / HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
  'an upgrade to HTTP/2': `GET / HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n`,
  'headers of 1 MB': `GET / HTTP/1.1\r\nHost: {host}\r\nX-A: ${'a'.repeat(2 ** 20)}\r\n${end}`,
  'ten thousand headers': `GET / HTTP/1.1\r\nHost: {host}\r\n${'X-A: a\r\n'.repeat(10_000)}${end}`,
  'a target of 1 MB': `GET /${'a'.repeat(2 ** 20)} HTTP/1.1\r\nHost: {host}\r\n${end}`,
  'a TLS greeting': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'bytes at random': `\xff\xfe\0\x01GET / HTTP/1.1\r\nHost: {host}\r\n${end}`,
};

/** Paths that different programs read as different things. */
const paths = [
  '//',
  '/./',
  '/../',
  '/x/..',
  '/%2e%2e/',
  '/..;/',
  '/;x',
  '/%00',
  '/%',
  '/\\',
  '/%5c..',
  '/?x',
  '/%2f%2e',
];

/** Restarts of the processes that all tenants share, by container. */
async function restarts(): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const namespace of ['svc-system', 'traefik']) {
    const { stdout } = await platform.kubectl('-n', namespace, 'get', 'pods', '-o', 'json');
    const { items } = JSON.parse(stdout) as {
      items: { metadata: { name: string }; status: { containerStatuses?: { restartCount: number }[] } }[];
    };
    for (const { metadata, status } of items)
      counts.set(
        metadata.name,
        (status.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0),
      );
  }
  return counts;
}

t.test('no malformed request reaches the app without a key, and none ends a shared process', async (t) => {
  const before = await restarts();
  const functionHost = new URL(view.url).host;
  const attempts = Object.entries(malformed).flatMap(([what, bytes]) =>
    [host, functionHost].map((target) => ({ what, target, bytes: bytes.replaceAll('{host}', target) })),
  );
  await Promise.all(
    attempts.map(async ({ what, target, bytes }) => {
      const answer = await sendRaw(ingress, Buffer.from(bytes, 'latin1'));
      if (target === host) t.notMatch(answer, appsAnswer, what);
    }),
  );
  t.equal((await ask('/', { 'X-API-Key': key })).status, 200);
  t.equal((await platform.request(view.url)).status, 200);
  const after = await restarts();
  // Another test may have started an ingress of its own meanwhile.
  t.same(new Map([...before.keys()].map((pod) => [pod, after.get(pod)])), before);
});

t.test('no spelling of a path or a host passes the gate', async (t) => {
  const hosts = [host, `${host}.`, host.toUpperCase(), hostname, `${hostname}:1`, `${hostname}.:80`];
  const attempts = paths.flatMap((path) => hosts.map((name) => ({ path, name })));
  await Promise.all(
    attempts.map(async ({ path, name }) => {
      const answer = await sendRaw(ingress, `GET ${path} HTTP/1.1\r\nHost: ${name}\r\n${end}`);
      t.notMatch(answer, appsAnswer, `${path} of ${name}`);
    }),
  );
});

t.test('a page whose name resolves to the ingress reaches neither the API nor what is behind it', async (t) => {
  // DNS rebinding: to the browser, the page and the ingress are one site. Its requests carry the page's name.
  const names = ['rebinding.example', 'localhost', '127.0.0.1'].map((each) => `${each}:${ingress.port}`);
  const places = ['/', '/api/v1/session', '/api/v1/openapi.json', '/health', '/metrics', '/authorize', '/report'];
  const attempts = places.flatMap((path) => names.map((each) => ({ path, each })));
  await Promise.all(
    attempts.map(async ({ path, each }) => {
      const head = `GET ${path} HTTP/1.1\r\nHost: ${each}\r\nOrigin: http://${each}\r\nSec-Fetch-Site: same-origin\r\n`;
      t.match(await sendRaw(ingress, `${head}${end}`), /^HTTP\/1\.1 404 /, `${path} of ${each}`);
    }),
  );
});

t.test('a request in the body of another is not answered as a request of its own', async (t) => {
  const inner = `GET /inner HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${key}\r\n${end}`;
  const framings = {
    'a length and chunks': `Content-Length: ${inner.length + 5}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    'chunks and a length': `Transfer-Encoding: chunked\r\nContent-Length: ${inner.length + 5}\r\n\r\n0\r\n\r\n`,
    'a coding after a space': `Content-Length: ${inner.length + 5}\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n`,
    'a coding in an unknown spelling': `Content-Length: ${inner.length + 5}\r\nTransfer_Encoding: chunked\r\n\r\n0\r\n\r\n`,
  };
  for (const [what, framing] of Object.entries(framings)) {
    const outer = `POST /outer HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${key}\r\n`;
    const answer = await sendRaw(ingress, `${outer}${framing}${inner}`);
    // The app sees the outer request alone, or both in their order, each with its key.
    const seen = [...answer.matchAll(/"url": ?"(\/\w+)"/g)].map(([, path]) => path);
    t.ok(seen.length <= 1 || seen.join() === '/outer,/inner', `${what}: ${seen.join()}`);
    t.equal((await ask('/next', { 'X-API-Key': key })).json()['url'], '/next', 'the next client gets its own answer');
  }
});

t.test('over HTTP/2, too, no spelling of a path passes the gate', async (t) => {
  const session = connectHttp2(platform.info.ingress);
  t.teardown(() => session.destroy());
  session.on('error', () => undefined);
  const request = async (headers: Record<string, string>): Promise<{ status: number; body: string }> => {
    const stream = session.request({ ':authority': host, ...headers });
    // Traefik waits for the rest of some forms.
    stream.setTimeout(2_000, () => stream.destroy(new Error('no answer')));
    try {
      const [head] = (await once(stream, 'response')) as [IncomingHttpHeaders];
      return { status: Number(head[':status']), body: await text(stream) };
    } catch {
      return { status: 0, body: '' };
    }
  };
  if (platform.info.target === 'local') {
    t.match(await request({ ':path': '/' }), { status: 0 }, 'the embedded ingress speaks HTTP/1.1 only');
    return;
  }
  t.match(await request({ ':path': '/', 'x-api-key': key }), { status: 200, body: appsAnswer });
  const forms: Record<string, string>[] = [
    ...paths.map((path) => ({ ':path': path })),
    { ':path': '*', ':method': 'OPTIONS' },
    { ':path': '/', 'transfer-encoding': 'chunked' },
    { ':path': '/', host: 'other.test' },
    { ':path': '/', ':authority': `${host}.` },
    { ':path': '/', ':authority': `x@${host}` },
    { ':path': '/', ':scheme': 'https' },
    { ':path': '/', te: 'trailers, x-api-key' },
    { ':path': `/${'a'.repeat(2 ** 16)}` },
  ];
  for (const form of forms) {
    const answer = await request(form).catch(() => ({ body: '' }));
    t.notMatch(answer.body, appsAnswer, JSON.stringify(form).slice(0, 100));
  }
});
