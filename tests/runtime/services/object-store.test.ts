import { createServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { listObjects, openObjectStore } from '../../../runtime/services/object-store.ts';

/** A store that answers every request with this handler, under a name that only its pinned address resolves. */
async function fakeStore(t: Test, handler: RequestListener, signal?: AbortSignal) {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const keys = { accessKey: 'svc', secretKey: 'correct-horse' };
  const target = { host: 'store.invalid', address: '127.0.0.1', port, tls: false, ...keys };
  const store = await openObjectStore(target, signal);
  t.teardown(() => {
    store.close();
    server.close();
    server.closeAllConnections();
  });
  return { ...store, port };
}

const errorXml = '<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Wait &amp; see</Message></Error>';

t.test('requests go to the pinned address and keep the host name, path style and signature', async (t) => {
  const requests: unknown[] = [];
  const { send, port } = await fakeStore(t, ({ method, url, headers }, response) => {
    requests.push([method, url, headers.host, headers['x-amz-content-sha256'], headers.authorization]);
    response.end('ok');
  });
  t.equal(await send({ path: ['files', 'a b', 'ü+'], query: { prefix: "it's", 'list-type': '2' } }), 'ok');
  t.equal(await send({ method: 'PUT', path: ['f?x'], body: 'ü' }), 'ok');
  const credential = /^AWS4-HMAC-SHA256 Credential=svc\/\d{8}\/us-east-1\/s3\/aws4_request, SignedHeaders=host;/;
  t.match(requests, [
    ['GET', '/files/a%20b/%C3%BC%2B?prefix=it%27s&list-type=2', `store.invalid:${port}`, /^e3b0c442/, credential],
    ['PUT', '/f%3Fx', `store.invalid:${port}`, /^607474ca/, credential],
  ]);
});

t.test('a refusal has the code and message of the store, whatever its form', async (t) => {
  for (const [status, body, code, message] of [
    [403, errorXml, 'SlowDown', 'Wait & see'],
    [503, errorXml, 'SlowDown', 'Wait & see'],
    [429, '', 'HTTP 429', 'the store answered 429'],
    [404, '{"Code":"XMinioAdminNoSuchUser","Message":"no user"}', 'XMinioAdminNoSuchUser', 'no user'],
    [500, '{"error', 'HTTP 500', 'the store answered 500'],
    [302, '<html>', 'HTTP 302', 'the store answered 302'],
    [206, 'a part', 'HTTP 206', 'the store answered 206'],
  ] as const) {
    let requests = 0;
    const { send } = await fakeStore(t, (_request, response) => {
      requests++;
      response.writeHead(status, { location: 'http://169.254.169.254/' }).end(body);
    });
    const refusal = { name: 'ObjectStoreError', code, message };
    await t.rejects(send({ path: ['files'] }), refusal);
    t.equal(requests, 1, 'without a retry or a redirect');
  }
});

t.test('a listing keeps keys that look like numbers, entities and spaces', async (t) => {
  const keys = ['007', '1.50', '0x1F', 'a%20b', 'a+b', 'x%26y'];
  const contents = keys.map(
    (key) =>
      `<Contents><Key>${key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&#34;e1&quot;</ETag><Size>3</Size></Contents>`,
  );
  const store = await fakeStore(t, ({ url = '' }, response) => {
    const more = !url.includes('continuation-token');
    const token = more ? '<NextContinuationToken>a&amp;b</NextContinuationToken>' : '';
    response.end(`<ListBucketResult>${contents.slice(...(more ? [0, 4] : [4])).join('')}${token}</ListBucketResult>`);
  });
  const pages = [];
  for await (const page of listObjects(store, 'files', { pageKeys: 4 })) pages.push(page);
  t.same(
    pages.map((page) => page.map(({ key }) => key)),
    [
      ['007', '1.50', '0x1F', 'a b'],
      ['a b', 'x&y'],
    ],
  );
  t.same(pages[0]?.[0], { key: '007', etag: 'e1', modified: '2026-01-01T00:00:00.000Z', size: 3 });
});

t.test('the signal ends a request with its reason, before and during the response', async (t) => {
  for (const part of ['', 'the first part']) {
    const controller = new AbortController();
    const { send } = await fakeStore(
      t,
      (_request, response) => {
        if (part !== '') response.write(part);
        setImmediate(() => controller.abort());
      },
      controller.signal,
    );
    await t.rejects(send({ path: ['files'] }), { name: 'AbortError' });
  }
});

t.test('a response that is too large is refused', async (t) => {
  for (const status of [200, 400]) {
    const { send } = await fakeStore(t, (_request, response) => {
      response.writeHead(status);
      const chunk = Buffer.alloc(1024 ** 2);
      const write = (): void => {
        if (!response.destroyed) response.write(chunk, () => setImmediate(write));
      };
      write();
    });
    await t.rejects(send({ path: ['files'] }), { code: 'ResponseTooLarge' });
  }
});
