import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import type { ImageView } from '../../runtime/contracts/api/images.ts';
import { eventually, runningPlatform, testProject } from '../support/platform.ts';

const platform = await runningPlatform();

t.test('images of builds are listed, pruned and deleted, and a deleted one can be built again', async (t) => {
  const { flags } = await testProject(t, platform);
  const folder = mkdtempSync(join(tmpdir(), 'svc-images-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const deploy = async (word: string) => {
    writeFileSync(join(folder, 'index.html'), word);
    const deployed = await platform.svc(['deploy', folder, '--name', 'site', '-o', 'json', ...flags]);
    t.equal(deployed.code, 0, deployed.stderr);
    // On the embedded cluster, a static site has no dependencies.
    const { url, revision } = JSON.parse(deployed.stdout) as { url: string; revision: number };
    const isCached = revision > 1 && platform.info.target === 'cluster';
    t.equal(deployed.stderr.includes('the dependencies are those of the last build'), isCached, `revision ${revision}`);
    return url;
  };
  const serves = (url: string, word: string) =>
    eventually(
      () => platform.request(url),
      ({ status, body }) => status === 200 && body === word,
    );
  const list = () => platform.json<ImageView[]>(['image', 'list', ...flags]);

  for (const word of ['one', 'two', 'three']) await deploy(word);
  const url = await deploy('four');
  const images = await list();
  t.match(
    images.map(({ revisions, inUse, status }) => [revisions[0]?.revision, inUse, status]),
    [
      [4, true, 'stored'],
      [3, false, 'stored'],
      [2, false, 'stored'],
      [1, false, 'stored'],
    ],
  );
  t.ok(images.every(({ sizeBytes = 0 }) => sizeBytes > 1_000));
  const [current, , second, first] = images;

  const refused = await platform.svc(['image', 'delete', current?.name ?? '', '--yes', ...flags]);
  t.not(refused.code, 0);
  t.match(refused.stderr, /in use by revision 4 of site/);

  const planned = await platform.json<ImageView[]>(['image', 'prune', '--keep', '2', '--dry-run', ...flags]);
  t.same(
    planned.map(({ name }) => name),
    [second?.name, first?.name],
  );
  t.equal((await list()).length, 4, 'a dry run deletes nothing');
  const pruned = await platform.svc(['image', 'prune', '--keep', '2', '--yes', ...flags]);
  t.equal(pruned.code, 0, pruned.stderr);
  t.match(pruned.stderr, /2 images deleted/);
  t.equal((await list()).length, 2);
  for (const image of [first, second]) t.equal(await isStored(image), false, `${image?.name} is gone`);
  t.equal(await isStored(current), true);

  const rollback = await platform.svc(['app', 'rollback', 'site', '--revision', '1', ...flags]);
  t.not(rollback.code, 0);
  t.match(rollback.stderr, /The image was deleted\. Build it again/);
  t.match(await platform.ok(['app', 'history', 'site', ...flags]), /\(deleted\)/);
  await platform.ok(['app', 'rollback', 'site', '--revision', '3', ...flags]);
  await serves(url, 'three');

  await deploy('one');
  await serves(url, 'one');
  t.match((await list())[0], { status: 'stored', inUse: true });
  t.equal(await isStored((await list())[0]), true);

  /** Whether the registry, or this machine's image store, has the image. */
  async function isStored(image: ImageView | undefined): Promise<boolean> {
    if (platform.info.target === 'local') {
      const tags = await platform.json<{ reference: string }[]>(['image', 'list', '--local']);
      return tags.some(({ reference }) => reference === image?.image);
    }
    const [host = '', ...path] = (image?.image ?? '').slice(0, image?.image.lastIndexOf(':')).split('/');
    const accept = 'application/vnd.oci.image.manifest.v1+json';
    const manifest = `http://${host}/v2/${path.join('/')}/manifests/${image?.digest}`;
    return (await fetch(manifest, { headers: { accept } })).status === 200;
  }
});
