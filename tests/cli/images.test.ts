import t from 'tap';
import { createImageStore } from '../../infra/local/node/images.ts';
import { homeAt } from '../../infra/local/home.ts';
import { createdAt, id, sequence, world } from './world.ts';

const images = '/api/v1/projects/shop/images';
const image = {
  id,
  name: 'web:3-abc',
  image: 'r.test/builds/shop-prod/web:3-abc',
  digest: `sha256:${'a'.repeat(64)}`,
  app: 'web',
  project: 'shop',
  environment: 'prod',
  revisions: [
    { environment: 'prod', app: 'web', revision: 5 },
    { environment: 'live', app: 'web', revision: 1 },
  ],
  sizeBytes: 12_900_000,
  inUse: true,
  usedBy: { environment: 'prod', app: 'web', revision: 5 },
  status: 'stored',
  builtAt: createdAt,
};
const old = { ...image, name: 'web:1-xyz', revisions: [], inUse: false, sizeBytes: 512 };

t.test('image list shows revisions, sizes and use', async (t) => {
  const cli = await world(t, { [`GET ${images}`]: { body: { items: [image, { ...old, message: 'It is stuck.' }] } } });
  const ran = await cli.run(['image', 'list', '--app', 'web']);
  t.match(cli.seen[0], { query: { app: 'web' } });
  t.equal(
    ran.stdout,
    `IMAGE       DIGEST                REVISIONS       SIZE       IN USE   STATUS   BUILT        MESSAGE
web:3-abc   sha256:aaaaaaaaaaaa   5, live/web:1   12.3 MiB   yes      stored   1 hour ago   -
web:1-xyz   sha256:aaaaaaaaaaaa   -               512 B      no       stored   1 hour ago   It is stuck.
`,
  );
});

t.test('image delete waits for the registry, and fails with its reason', async (t) => {
  const deleting = { ...old, status: 'deleting' };
  const result = sequence({ body: deleting }, { body: { ...old, status: 'deleted' } });
  const cli = await world(t, {
    [`GET ${images}/web%3A1-xyz`]: { body: old },
    [`DELETE ${images}/web%3A1-xyz`]: { status: 202, body: deleting },
    [`GET ${images}/${id}`]: result,
  });
  const ran = await cli.run(['image', 'delete', 'web:1-xyz', '--yes']);
  t.equal(ran.code, 0, ran.stderr);
  t.match(ran.stderr, /image web:1-xyz is deleted/);
  const refused = await world(t, {
    [`GET ${images}/web%3A1-xyz`]: { body: old },
    [`DELETE ${images}/web%3A1-xyz`]: { status: 202, body: deleting },
    [`GET ${images}/${id}`]: { body: { ...old, problem: 'image_deletion_disabled', message: 'It allows none.' } },
  });
  t.match(await refused.run(['image', 'delete', 'web:1-xyz', '--yes']), {
    code: 1,
    stderr: /was not deleted\. It allows none\./,
  });
});

t.test('image prune asks first, pages, and only lists with --dry-run', async (t) => {
  const page = (more: boolean) => ({ body: { keep: 2, images: [{ ...old, status: 'deleting' }], more } });
  const gone = { body: { ...old, status: 'deleted' } };
  const cli = await world(t, {
    [`POST ${images}/prune`]: sequence(page(false), page(true), page(true), page(false)),
    [`GET ${images}/${id}`]: sequence(
      { body: { ...old, status: 'deleting' } },
      { body: { ...old, status: 'deleting', message: 'It waits for a build of its app.' } },
      gone,
    ),
  });
  const listed = await cli.run(['image', 'prune', '--keep', '2', '--dry-run']);
  t.equal(listed.code, 0, listed.stderr);
  t.same(
    cli.seen.map(({ body }) => body),
    [{ keep: 2, dryRun: true }],
  );
  const ran = await cli.run(['image', 'prune', '--keep', '2', '--yes']);
  t.equal(ran.code, 0, ran.stderr);
  const progress = '1 of 2: web:1-xyz: deleting';
  t.equal(ran.stderr, `${progress}\n${progress}. It waits for a build of its app.\n2 images deleted\n`);
  t.match(ran.stdout, / deleted /, 'as the images are after the wait');
  t.notMatch(ran.stdout, / deleting /);
  t.match(
    cli.seen.slice(1, 4).map(({ body }) => body),
    [{ dryRun: true }, { dryRun: false }, { dryRun: false }],
  );
  const none = await world(t, { [`POST ${images}/prune`]: { body: { keep: 10, images: [], more: false } } });
  t.match(await none.run(['image', 'prune']), { code: 0, stderr: /nothing to delete/ });
  const unasked = await world(t, { [`POST ${images}/prune`]: page(false) });
  t.match(await unasked.run(['image', 'prune']), { code: 2 });
  t.equal(unasked.seen.length, 1, 'nothing was requested');
});

t.test('images on this machine: only those that svc image build made are deleted', async (t) => {
  const home = t.testdir({ folder: { file: 'x' } });
  const store = createImageStore(homeAt(home).images);
  for (const name of ['shop:1', 'shop:2', 'svc/platform:1', 'localhost:5000/builds/shop-prod/web:1']) {
    await store.add(`${home}/folder`, name, {});
  }
  const cli = await world(t, {});
  const run = (...args: string[]) => cli.run(['image', ...args, '--local'], { env: { SVC_HOME: home } });
  t.match(await run('delete', 'other:1', '--yes'), { code: 1, stderr: /no image "other:1" on this machine/ });
  t.match(await run('delete', 'svc/platform:1', '--yes'), { code: 2, stderr: /is an image of the platform itself/ });
  t.match(await run('delete', 'localhost:5000/builds/shop-prod/web:1', '--yes'), {
    code: 2,
    stderr: /was built for an app/,
  });
  t.match(await run('delete', 'shop:1', '--yes'), { code: 0, stderr: /image shop:1 is deleted/ });
  t.match((await run('list', '-o', 'name')).stdout, /^localhost.*\nshop:2\nsvc\/platform:1\n$/);
  t.match(await store.find('shop:2'), { digest: /^sha256/ }, 'its files are those of the other tags');
});
