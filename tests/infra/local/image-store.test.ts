import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
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

const key = 'a'.repeat(64);

t.test('an image shares the dependencies of an earlier one, and keeps them when that is removed', async (t) => {
  const home = t.testdir({
    first: { 'server.js': 'one', node_modules: { express: { 'index.js': 'express', lib: { 'a.js': 'a' } } } },
    second: { 'server.js': 'two', lib: { 'a.js': 'own' } },
    whole: {
      'server.js': 'two',
      lib: { 'a.js': 'own' },
      node_modules: { express: { 'index.js': 'express', lib: { 'a.js': 'a' } } },
    },
    none: { 'server.js': 'three' },
  });
  for (const name of ['first', 'whole']) symlinkSync('express/index.js', join(home, name, 'node_modules/express.js'));
  const store = createImageStore(join(home, 'images'));
  const add = (name: string, options?: Parameters<typeof store.add>[3]) =>
    store.add(join(home, name), `${web}:${name}`, { entrypoint: ['node'] }, options);
  const dependencies = { folder: 'node_modules', key };
  const first = await add('first', { dependencies });
  t.match(first.dependencies, { ...dependencies, digest: /^[0-9a-f]{64}$/, bytes: 'express'.length + 'a'.length });
  t.match(await store.find(`${web}:first`), { dependencies: first.dependencies });
  // What an upload has under their name does not become part of the image.
  mkdirSync(join(home, 'second/node_modules'));
  writeFileSync(join(home, 'second/node_modules/other.js'), 'other');
  const second = await add('second', { base: first });
  t.same(second.dependencies, first.dependencies);
  const read = (name: string) => readFileSync(join(second.folder, name), 'utf8');
  const file = 'node_modules/express/index.js';
  t.equal(statSync(join(second.folder, file)).ino, statSync(join(first.folder, file)).ino, 'the content is there once');
  t.same(readdirSync(join(second.folder, 'node_modules')).toSorted(), ['express', 'express.js']);
  t.equal((await add('whole', { dependencies })).digest, second.digest, 'the same files have the same digest');
  t.not((await add('whole')).digest, second.digest);
  t.equal(await store.remove(web, first.digest), true);
  rmSync(join(home, 'first'), { recursive: true });
  t.same(
    [read('server.js'), read('lib/a.js'), read(file), read('node_modules/express.js')],
    ['two', 'own', 'express', 'express'],
  );
  t.equal((await add('none', { dependencies })).dependencies, undefined, 'nothing is recorded without the folder');
});

t.test('folders with different files have different digests', async (t) => {
  const home = t.testdir({
    two: { a: 'x', b: 'y' },
    one: { a: 'x\0/b\0y' },
    link: { a: t.fixture('symlink', 'x'), b: 'y' },
    folder: { a: 'x', b: 'y', c: {} },
  });
  const store = createImageStore(join(home, 'images'));
  const digests = await Promise.all(
    ['two', 'one', 'link', 'folder'].map(
      async (name) => (await store.add(join(home, name), `${web}:${name}`, {})).digest,
    ),
  );
  t.equal(new Set(digests).size, digests.length);
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
