import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { createImageUploadServer } from '../../../infra/local/image-upload.ts';
import { createImageStore } from '../../../infra/local/node/images.ts';
import { deleteManifest } from '../../../workers/images/registry.ts';
import { registryFile } from '../../support/image-registry.ts';
import { silentLog } from '../../support/log.ts';

const web = 'localhost:5000/builds/shop-prod/web';
const api = 'localhost:5000/builds/shop-prod/api';
const basic = (text: string) => Buffer.from(text).toString('base64');

function world(t: Test) {
  const home = t.testdir({ source: {} });
  const root = join(home, 'images');
  const folder = join(home, 'source');
  const store = createImageStore(root);
  const add = async (reference: string, content: string) => {
    writeFileSync(join(folder, 'file'), content);
    return (await store.add(folder, reference, {})).digest;
  };
  const blobs = () => readdirSync(join(root, 'blobs'));
  const tags = async () => (await store.list()).map(({ reference }) => reference);
  return { store, add, blobs, tags };
}

t.test('an image is removed from one repository with its tags, and its files with the last one', async (t) => {
  const { store, add, blobs, tags } = world(t);
  const digest = await add(`${web}:1`, 'one');
  await store.tag(`${web}:2`, { digest });
  await store.tag(`${api}:1`, { digest });
  const other = await add(`${web}:3`, 'two');
  t.equal(blobs().length, 2);
  t.equal(await store.remove(web, digest), true);
  t.same(await tags(), [`${api}:1`, `${web}:3`]);
  t.equal(await store.find(`${web}@${digest}`), undefined);
  t.match(await store.find(`${api}@${digest}`), { digest });
  t.equal(await store.remove(web, digest), false, 'it is removed');
  t.equal(await store.remove(api, digest), true);
  t.same(blobs(), [other.replace(':', '-')]);
  t.equal(await add(`${web}:4`, 'one'), digest);
  t.match(await store.find(`${web}:4`), { digest }, 'it can be added again');
  for (const wrong of ['', 'sha256:', `sha256:${'../'.repeat(20)}`]) t.equal(await store.remove(web, wrong), false);
});

t.test('a tag is removed, and the image with its last tag', async (t) => {
  const { store, add, blobs, tags } = world(t);
  const digest = await add('shop:1', 'one');
  await store.tag('shop:2', { digest });
  t.equal(await store.untag('shop:1'), true);
  t.same(await tags(), ['shop:2']);
  t.equal(blobs().length, 1);
  t.equal(await store.untag('shop:2'), true);
  t.same(blobs(), []);
  t.equal(await store.untag('shop:2'), false);
});

t.test('the store deletes as a registry does, with credentials that cannot push', async (t) => {
  const { store, add, tags } = world(t);
  const server = createImageUploadServer({
    images: store,
    log: silentLog,
    prefix: 'localhost:5000/builds/',
    credentials: () => Promise.resolve(basic('builder:b')),
    deletionCredentials: () => Promise.resolve(basic('cleaner:c')),
  });
  const host = `127.0.0.1:${await server.start(0)}`;
  t.teardown(() => server.stop());
  const digest = await add(`${web}:1`, 'one');
  const platform = await add('localhost:5000/svc/platform:1', 'platform');
  const remove = (path: string, id: string, credentials?: string) =>
    deleteManifest(
      { address: `http://${host}`, path, digest: id },
      { credentials: credentials && registryFile(host, credentials), signal: new AbortController().signal },
    );
  for (const credentials of [undefined, 'builder:b', 'cleaner:x']) {
    t.match(await remove('builds/shop-prod/web', digest, credentials), { problem: 'registry_denied' });
  }
  t.match(await remove('svc/platform', platform, 'cleaner:c'), { problem: 'registry_denied' });
  t.match(await remove('builds-2/shop-prod/web', digest, 'cleaner:c'), { problem: 'registry_denied' });
  t.equal((await tags()).length, 2);
  const send = async (method: string, path: string, headers: Record<string, string> = {}) =>
    (
      await fetch(`http://${host}${path}`, {
        method,
        headers: { authorization: `Basic ${basic('cleaner:c')}`, ...headers },
      })
    ).status;
  t.equal(await send('PUT', `/images/${encodeURIComponent(`${web}:1`)}`), 401, 'they cannot push');
  for (const path of ['builds/../svc/platform', 'builds//shop-prod/web', 'builds/%2e%2e/web']) {
    t.match(String(await send('DELETE', `/v2/${path}/manifests/${platform}`)), /^40[34]$/, path);
  }
  t.match(await remove('builds/shop-prod/api', digest, 'cleaner:c'), { result: 'deleted' }, 'it does not exist there');
  t.match(await store.find(`${web}:1`), { digest });
  t.match(await remove('builds/shop-prod/web', digest, 'cleaner:c'), { result: 'deleted' });
  t.same(await tags(), ['localhost:5000/svc/platform:1']);
});
