import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { makeFolderImage } from '../../infra/images/builder/folder-image.ts';
import { createGoCache } from '../../infra/local/go-cache.ts';
import { createImageUploadServer } from '../../infra/local/image-upload.ts';
import { createImageStore } from '../../infra/local/node/images.ts';
import { goProgram } from '../../runtime/domain/folder-plan.ts';
import { fakeGo } from '../support/fake-go.ts';
import { silentLog } from '../support/log.ts';

/** Builds of Go modules begin with packages that the embedded cluster compiled once for all. */
async function world(t: Test) {
  const go = fakeGo(t);
  const { folder, path } = go;
  const cache = createGoCache({ folder: join(folder, 'go'), path, log: silentLog });
  const server = createImageUploadServer({
    images: createImageStore(join(folder, 'images')),
    log: silentLog,
    prefix: 'localhost:5000/builds/',
    credentials: () => Promise.resolve(undefined),
    deletionCredentials: () => Promise.resolve(undefined),
    goPackages: () => cache.find(),
  });
  const host = `127.0.0.1:${await server.start(0)}`;
  const { PATH, TMPDIR } = process.env;
  t.teardown(async () => {
    await server.stop();
    process.env['PATH'] = PATH;
    if (TMPDIR === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = TMPDIR;
  });
  process.env['PATH'] = path;
  let count = 0;
  /** @returns the program, and what is left of the build's temporary files */
  const build = async () => {
    const workspace = join(folder, `workspace-${++count}`);
    const [context, tmp] = [join(workspace, 'source'), join(workspace, 'tmp')];
    for (const path of [context, tmp]) mkdirSync(path, { recursive: true });
    process.env['TMPDIR'] = tmp;
    writeFileSync(join(context, 'go.mod'), 'module example.com/shop\n');
    await makeFolderImage({ workspace, target: `${host}/shop:1`, dockerfile: undefined }, { context, now: 0 });
    return { program: readFileSync(join(context, goProgram), 'utf8'), left: readdirSync(tmp) };
  };
  return { ...go, cache, host, build };
}

t.test('a build that changes the packages changes its own copy', async (t) => {
  const { build, cache, compilations } = await world(t);
  for (const whose of ['the first project', 'another project']) {
    t.same(await build(), { program: 'compiled\n', left: [] }, whose);
  }
  t.equal(readFileSync(join((await cache.find()) ?? '', '00/net-d'), 'utf8'), 'compiled\n');
  t.equal(compilations().length, 1);
});

const skip = process.getuid?.() === 0 ? false : 'only root can give pods users of their own';
t.test('the user of a pod can read the packages, and write to none', { skip }, async (t) => {
  const { cache } = await world(t);
  const packages = (await cache.find()) ?? '';
  const matches = (what: string) =>
    execFileSync('/usr/bin/find', [join(packages, '..'), what], { uid: 1_879_048_192, gid: 1_879_048_192, cwd: '/' })
      .toString()
      .split('\n')
      .filter(Boolean);
  t.ok(matches('-readable').includes(join(packages, '00/net-d')));
  t.same(matches('-writable'), []);
});

t.test('a build without them, or with broken ones, goes on', async (t) => {
  const { build, also, compilations } = await world(t);
  also('exit 1');
  t.equal((await build()).program, '');
  t.equal((await build()).program, '');
  t.equal(compilations().length, 1, 'no build makes the next one wait');

  const broken = await world(t);
  const packages = (await broken.cache.find()) ?? '';
  rmSync(packages, { recursive: true });
  writeFileSync(packages, 'no folder');
  t.equal((await broken.build()).program, '');
});

t.test('a request decides nothing about what is compiled, and web pages cannot make one', async (t) => {
  const { host, compilations } = await world(t);
  const ask = (path: string, headers: Record<string, string> = {}) =>
    new Promise<number | undefined>((resolve, reject) => {
      const sent = request(`http://${host}${path}`, { headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sent.once('error', reject).end();
    });
  t.equal(await ask('/go-packages', { host: 'shop.example.com' }), 421);
  for (const path of ['/go-packages?version=go1.1', '/go-packages/net', '/go-packages%2f'])
    t.equal(await ask(path), 404);
  t.same(compilations(), []);
  t.equal(await ask('/go-packages'), 200);
});
