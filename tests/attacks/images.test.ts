import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { imagePrefix, repositoryAt } from '../../runtime/domain/built-image.ts';
import { basicCredentials } from '../../runtime/domain/registry-credentials.ts';
import { deleteManifest } from '../../workers/images/registry.ts';
import { recordImage } from '../../runtime/records/images.ts';
import { builtApp, digestOf } from '../support/built-apps.ts';
import { registryFile, testRegistry } from '../support/image-registry.ts';
import { testDatabase } from '../support/postgres.ts';

const digest = digestOf(1);
const path = 'builds/shop-prod/web';
const access = (credentials?: string, timeoutMs = 300) => ({
  credentials,
  signal: new AbortController().signal,
  timeoutMs,
});

t.test('a registry that is silent, slow, endless or no registry ends nothing', async (t) => {
  const registry = await testRegistry(t);
  const remove = (timeoutMs?: number) =>
    deleteManifest({ address: registry.address, path, digest }, access(registryFile(registry.host), timeoutMs));
  const unknown = { result: 'unknown', problem: 'registry_unavailable' };

  registry.answer = () => undefined;
  t.match(await remove(), unknown, 'silent');
  registry.answer = (_, response) => {
    response.writeHead(202, { 'content-length': '1000000' });
    response.write('x');
  };
  t.match(await remove(), unknown, 'slow');
  let sent = 0;
  registry.answer = (_, response) => {
    response.writeHead(500);
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(64 * 1024))) sent += 64 * 1024;
    };
    response.on('drain', more);
    more();
  };
  t.match(await remove(10_000), unknown, 'endless');
  t.ok(sent < 64 * 1024 * 1024, `it could send ${sent} bytes`);
  registry.answer = (_, response) => response.writeHead(200, { 'x-long': 'x'.repeat(60_000) }).end();
  t.match(await remove(), unknown, 'long headers');
  registry.answer = (_, response) => response.destroy();
  t.match(await remove(), unknown, 'closed');

  const server = createServer((socket) => socket.on('error', () => undefined).end('SSH-2.0-server\r\n'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  t.match(await deleteManifest({ address: `http://127.0.0.1:${port}`, path, digest }, access()), unknown, 'no HTTP');
});

t.test('a registry cannot send the request, or the credentials, to another server', async (t) => {
  const [registry, other] = [await testRegistry(t), await testRegistry(t)];
  const remove = () =>
    deleteManifest({ address: registry.address, path, digest }, access(registryFile(registry.host), 2_000));
  for (const status of [301, 302, 307, 308]) {
    registry.answer = (_, response) => response.writeHead(status, { location: `${other.address}/` }).end();
    t.match(await remove(), { result: 'refused', problem: 'registry_refused' });
  }
  const challenge = `Bearer realm="${other.address}/token",service="registry"`;
  registry.answer = (_, response) => response.writeHead(401, { 'www-authenticate': challenge }).end();
  t.match(await remove(), { result: 'refused', problem: 'registry_denied' });
  for (const realm of ['file:///etc/passwd', 'javascript:1', '', 'x'.repeat(5_000)]) {
    registry.answer = (_, response) => response.writeHead(401, { 'www-authenticate': `Bearer realm="${realm}"` }).end();
    t.match(await remove(), { result: 'refused', problem: 'registry_denied' }, realm.slice(0, 20));
  }
  t.same(other.requests, []);
});

t.test('a token server of the registry itself is used, with a scope for this repository only', async (t) => {
  const registry = await testRegistry(t);
  const token = (text: string) => {
    registry.requests.length = 0;
    registry.answer = (request, response) => {
      if (request.url?.startsWith('/token')) response.writeHead(200).end(text);
      else if (request.headers.authorization === 'Bearer good') response.writeHead(202).end();
      else {
        const scope = 'repository:builds/victim-prod/web:delete';
        const challenge = `Bearer realm="${registry.address}/token",service="r&x",scope="${scope}"`;
        response.writeHead(401, { 'www-authenticate': challenge }).end();
      }
    };
    return deleteManifest({ address: registry.address, path, digest }, access(registryFile(registry.host), 2_000));
  };
  t.match(await token('{"token":"good"}'), { result: 'deleted' });
  t.match(registry.requests[1], {
    url: '/token?service=r%26x&scope=repository%3Abuilds%2Fshop-prod%2Fweb%3Adelete',
    authorization: /^Basic /,
  });
  t.match(await token('{"access_token":"good"}'), { result: 'deleted' });
  for (const text of ['', '[]', '{"token":"a\\r\\nx: y"}', `{"token":"${'x'.repeat(40_000)}"}`, '{"token":1}']) {
    t.match(await token(text), { result: 'refused', problem: 'registry_denied' }, text.slice(0, 30));
  }
});

t.test('no image outside the repository of its app is recorded or deleted', async (t) => {
  const { pool } = await testDatabase(t);
  const app = await builtApp(pool);
  const deployment = await app.accept();
  for (const image of [
    'localhost:5000/builds/victim-prod/web:1',
    'localhost:5000/builds/shop-prod/web/../../victim-prod/web:1',
    'localhost:5000/builds/shop-prod/web2:1',
    'localhost:5000/builds/xshop-prod/web:1',
    'localhost:5000/svc/platform:1',
    'web:1',
  ]) {
    t.equal(await recordImage(pool, deployment, { image, digest }), undefined, image);
  }
  const registry = { registry: 'localhost:5000/builds', pushAddress: 'http://10.0.0.5:5000' };
  const own = { namespace: 'shop-prod', app: 'web' };
  const prefix = imagePrefix(registry, 'shop-prod');
  t.same(repositoryAt(registry, { ...own, repository: `${prefix}web` }), { address: 'http://10.0.0.5:5000', path });
  for (const repository of [
    'localhost:5000/builds/victim-prod/web',
    'localhost:5000/builds/shop-prod/web/../../victim-prod/web',
    'evil.test/builds/shop-prod/web',
    'localhost:5000/builds/shop-prod/web/',
    'localhost:5000/builds/shop-prod/../victim-prod/web',
  ]) {
    t.equal(repositoryAt(registry, { ...own, repository }), undefined, repository);
  }
  for (const wrong of ['builds/../x', 'builds//x', 'builds/x?y', 'builds/x#', 'BUILDS/x', '']) {
    t.match(await deleteManifest({ address: 'http://127.0.0.1:1', path: wrong, digest }, access()), {
      result: 'refused',
    });
  }
});

t.test('credentials for another registry are not sent', (t) => {
  const file = registryFile('registry.test');
  t.equal(basicCredentials(file, 'registry.test'), Buffer.from('cleaner:secret').toString('base64'));
  t.equal(basicCredentials(file, 'registry.test.evil'), undefined);
  t.equal(basicCredentials('{"auths":{"r":{"username":"a","password":"b"}}}', 'r'), 'YTpi');
  for (const text of ['', '{', '[]', '{"auths":[]}', '{"auths":{"r":{"auth":"a b"}}}', '{"auths":{"r":{}}}']) {
    t.equal(basicCredentials(text, 'r'), undefined, text);
  }
  t.end();
});
