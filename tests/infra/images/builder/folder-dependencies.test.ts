import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import t, { type Test } from 'tap';
import { buildImage, pushImage } from '../../../../infra/images/builder/build.ts';
import {
  dependenciesOf,
  readBuilt,
  restoreDependencies,
} from '../../../../infra/images/builder/folder-dependencies.ts';
import { planOf } from '../../../../infra/images/builder/plan.ts';
import { readSettings } from '../../../../infra/images/builder/settings.ts';
import { createImageUploadServer } from '../../../../infra/local/image-upload.ts';
import { createImageStore } from '../../../../infra/local/node/images.ts';
import { silentLog } from '../../../support/log.ts';

const manifest = { scripts: { start: 'node x.js' }, dependencies: { express: '5.1.0' } };
const lock = {
  lockfileVersion: 3,
  packages: { '': manifest, 'node_modules/express': { resolved: 'https://r/e.tgz' } },
};
const app = { 'package.json': JSON.stringify(manifest), 'package-lock.json': JSON.stringify(lock), 'x.js': 'one' };
const python = { 'main.py': '', 'requirements.txt': 'flask==3.1.1\n' };
const repository = 'localhost:5000/builds/shop-prod/web';

/** An image store, and builds whose npm leaves one package, runs `build.sh`, and writes its first argument into a file. */
async function world(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-build-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['bin', 'config']) mkdirSync(join(folder, name));
  const calls = join(folder, 'calls');
  const npm = join(folder, 'bin/npm');
  const install = 'mkdir -p node_modules/express; echo 5 > node_modules/express/index.js';
  writeFileSync(npm, `#!/bin/sh\necho "$1" >> '${calls}'\ncase "$1" in run) sh ./build.sh ;; *) ${install} ;; esac\n`);
  chmodSync(npm, 0o755);
  const previous = { PATH: process.env['PATH'], REGISTRY_AUTH_FILE: process.env['REGISTRY_AUTH_FILE'] };
  t.teardown(() => {
    for (const [name, value] of Object.entries(previous)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
  process.env['PATH'] = `${join(folder, 'bin')}${delimiter}${process.env['PATH'] ?? ''}`;
  const store = createImageStore(join(folder, 'images'));
  const auth = Buffer.from('builder:s3cret').toString('base64');
  const server = createImageUploadServer({
    images: store,
    log: silentLog,
    prefix: 'localhost:5000/builds/',
    credentials: () => Promise.resolve(auth),
    deletionCredentials: () => Promise.resolve(undefined),
  });
  const host = `127.0.0.1:${await server.start(0)}`;
  t.teardown(() => server.stop());
  const signIn = (credentials: string) => {
    const file = join(folder, 'config/registry.json');
    writeFileSync(file, JSON.stringify({ auths: { [host]: { auth: credentials } } }));
    process.env['REGISTRY_AUTH_FILE'] = file;
  };
  signIn(auth);
  let count = 0;
  /** The steps of a build, in a workspace of its own. @param change runs as the code that is built */
  const build = async (
    files: Record<string, string>,
    {
      cacheDigest,
      name = 'web',
      change,
    }: { cacheDigest?: string; name?: string; change?: (workspace: string) => void } = {},
  ) => {
    const workspace = join(folder, `workspace-${++count}`);
    mkdirSync(join(workspace, 'source'), { recursive: true });
    const settings = readSettings({
      BUILD_WORKSPACE: workspace,
      BUILD_IMAGE: `localhost:5000/builds/shop-prod/${name}:${count}`,
      BUILD_TARGET: `${host}/builds/shop-prod/${name}:${count}`,
      BUILD_RESULT: join(workspace, 'result'),
      ...(cacheDigest !== undefined && { BUILD_CACHE_DIGEST: cacheDigest }),
    });
    await restoreDependencies(settings);
    for (const [file, content] of Object.entries(files)) writeFileSync(join(workspace, 'source', file), content);
    await buildImage(settings, 'folder');
    change?.(workspace);
    const { digest, sizeBytes } = await pushImage(settings, 'folder');
    const image = await store.find(`localhost:5000/builds/shop-prod/${name}@${digest}`);
    return { digest, sizeBytes, image };
  };
  const installations = () => (existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : []);
  return { folder, host, auth, store, build, installations, signIn };
}

t.test('dependencies that have not changed are taken from the last image, and not uploaded', async (t) => {
  const { build, installations } = await world(t);
  const first = await build(app);
  t.same(installations(), ['ci']);
  t.match(first.image?.dependencies, { folder: 'node_modules', key: /^[0-9a-f]{64}$/, bytes: 2, needed: false });
  const second = await build({ ...app, 'x.js': 'two' }, { cacheDigest: first.digest });
  t.same(installations(), ['ci'], 'nothing was installed');
  t.same(second.image?.dependencies, first.image?.dependencies);
  const read = (name: string) => readFileSync(join(second.image?.folder ?? '', name), 'utf8');
  t.same([read('x.js'), read('node_modules/express/index.js')], ['two', '5\n']);
  t.not(second.digest, first.digest);
  const third = await build({ ...app, 'x.js': 'one' }, { cacheDigest: second.digest });
  t.equal(third.digest, first.digest, 'the same folder is the same image');
  await build(
    { ...app, 'package-lock.json': JSON.stringify({ ...lock, name: 'other' }) },
    { cacheDigest: third.digest },
  );
  t.same(installations(), ['ci', 'ci'], 'another lock file');
  await build(app);
  t.same(installations(), ['ci', 'ci', 'ci'], 'without an earlier image');
  t.ok(second.sizeBytes > 2);
});

t.test('a folder whose dependencies depend on more than a few files has them installed by each build', async (t) => {
  const key = async (files: Record<string, string>, { now = 0, env = {} } = {}) => {
    const context = t.testdir(files);
    return (await dependenciesOf(context, planOf(context), { env, now }))?.key;
  };
  const withScript = (name: string) => ({
    ...app,
    'package.json': JSON.stringify({ ...manifest, scripts: { ...manifest.scripts, [name]: 'node y.js' } }),
  });
  const withLock = (packages: object) => ({ ...app, 'package-lock.json': JSON.stringify({ ...lock, packages }) });
  const { 'package-lock.json': _, ...unlocked } = app;
  for (const [what, files] of Object.entries<Record<string, string>>({
    'no lock file': unlocked,
    'a script that runs at the installation': withScript('postinstall'),
    'a package of the folder': withLock({ '': {}, 'packages/a': {}, 'node_modules/a': { link: true } }),
    'an archive of the folder': withLock({ '': {}, 'node_modules/a': { resolved: 'file:a.tgz' } }),
    'a lock file of an old npm': { ...app, 'package-lock.json': '{"lockfileVersion":1}' },
    'a lock file that is not valid': { ...app, 'package-lock.json': '{' },
    'a native module': { ...app, 'binding.gyp': '{}' },
    'requirements of another file': { ...python, 'requirements.txt': '-r other.txt' },
    'a package of the folder, in Python': { ...python, 'requirements.txt': 'flask\n./own\n' },
    'an address': { ...python, 'requirements.txt': 'own @ https://example.com/own.whl' },
    'a file that looks like a name': { ...python, 'own.whl': '', 'requirements.txt': 'own.whl' },
    'no packages': { Procfile: 'web: ./x' },
    'a pyproject.toml': { 'main.py': '', 'pyproject.toml': '' },
  })) {
    t.equal(await key(files), undefined, what);
  }
  const node = await key(app);
  t.match(node, /^[0-9a-f]{64}$/);
  t.equal(await key({ ...app, 'x.js': 'two' }), node);
  const week = 7 * 24 * 3_600_000;
  for (const [what, other] of Object.entries({
    week: await key(app, { now: week }),
    registry: await key(app, { env: { npm_config_registry: 'https://npm.example.com' } }),
    configuration: await key({ ...app, '.npmrc': 'omit=optional' }),
  })) {
    t.not(other, node, what);
    t.match(other, /^[0-9a-f]{64}$/, what);
  }
  const requirements =
    'Flask[async]==3.1.1 ; python_version >= "3.9"  # web\n\n# more\nms>=1,<2 \\\n    --hash=sha256:0a1b\n';
  t.match(await key({ ...python, 'requirements.txt': requirements }), /^[0-9a-f]{64}$/);
});

t.test('a script that builds finds the dependencies of the last image', async (t) => {
  const { build, installations } = await world(t);
  const files = (script: string) => ({
    ...app,
    'package.json': JSON.stringify({ ...manifest, scripts: { ...manifest.scripts, build: 'sh build.sh' } }),
    'build.sh': script,
  });
  const compile = 'cat x.js node_modules/express/index.js > out.js';
  const first = await build(files(compile));
  t.same(installations(), ['ci', 'run']);
  t.match(first.image?.dependencies, { needed: true });
  const second = await build({ ...files(compile), 'x.js': 'two' }, { cacheDigest: first.digest });
  t.same(installations(), ['ci', 'run', 'run'], 'nothing was installed');
  t.same(second.image?.dependencies, first.image?.dependencies);
  const read = (image: typeof first, name: string) => readFileSync(join(image.image?.folder ?? '', name), 'utf8');
  t.same([read(second, 'out.js'), read(second, 'node_modules/express/index.js')], ['two5\n', '5\n']);

  const cache = await build(files('mkdir node_modules/.cache; echo 1 > node_modules/.cache/a'), {
    cacheDigest: second.digest,
  });
  t.equal(read(cache, 'node_modules/.cache/a'), '1\n', 'the image has what the script left');
  t.equal(cache.image?.dependencies?.key, first.image?.dependencies?.key);
  const pruned = await build(files('rm -r node_modules/express'), { cacheDigest: cache.digest });
  t.equal(pruned.image?.dependencies, undefined, 'packages that a script changed are for this image only');
  await build(files(compile), { cacheDigest: pruned.digest });
  t.same(installations().slice(3), ['run', 'run', 'ci', 'run']);
});

t.test('an app’s dependencies come from its own images, with the credentials of builds', async (t) => {
  const { folder, host, auth, build, installations, signIn } = await world(t);
  const { digest } = await build(app);
  const ask = async (name: string, authorization = `Basic ${auth}`) =>
    (await fetch(`http://${host}/images/${encodeURIComponent(name)}`, { headers: { authorization } })).status;
  t.equal(await ask(`${repository}@${digest}`), 200);
  t.equal(await ask(`${repository}@${digest}`, 'Basic c3RyYW5nZXI='), 401);
  for (const name of [
    'localhost:5000/builds/shop-prod/api',
    'localhost:5000/builds/other-prod/web',
    'localhost:5000/svc/web',
  ]) {
    t.equal(await ask(`${name}@${digest}`), 404, name);
  }
  t.equal(await ask(repository), 400);
  t.equal(await ask(`${repository}@sha256:..`), 400);
  const files = async (name: string) =>
    (
      await fetch(`http://${host}/images/${encodeURIComponent(name)}/dependencies`, {
        headers: { authorization: `Basic ${auth}` },
      })
    ).status;
  t.equal(await files(`${repository}@${digest}`), 200);
  t.equal(await files(`localhost:5000/builds/other-prod/web@${digest}`), 404);
  await build({ ...app, 'x.js': 'other' }, { name: 'api', cacheDigest: digest });
  t.equal(installations().length, 2, 'another app does not get them');

  const forged = (record: object) => (workspace: string) =>
    writeFileSync(join(workspace, 'dependencies.json'), JSON.stringify(record));
  const claim = { folder: 'node_modules', key: 'a'.repeat(64), needed: false, cached: true };
  const refused = { message: /the image store refused the image: the repository has no such image/ };
  await t.rejects(build(app, { name: 'api', cacheDigest: digest, change: forged(claim) }), refused, 'nor by a claim');
  await t.rejects(build(app, { change: forged(claim) }), { message: /the header x-dependencies must be/ });
  for (const record of [{}, { ...claim, folder: '../..' }, { ...claim, key: '../x' }, { ...claim, folder: 1 }]) {
    const { image } = await build(app, { cacheDigest: digest, change: forged(record) });
    t.equal(image?.dependencies, undefined, JSON.stringify(record));
  }
  const secret = join(folder, 'config/secret');
  writeFileSync(secret, JSON.stringify(claim));
  const workspace = join(folder, 'links');
  mkdirSync(workspace);
  symlinkSync(secret, join(workspace, 'dependencies.json'));
  t.equal(readBuilt(workspace), undefined, 'a link is not followed');

  signIn(Buffer.from('builder:other').toString('base64'));
  const before = installations().length;
  await t.rejects(build(app, { cacheDigest: digest }), { message: /credentials for the image store/ });
  t.equal(installations().length, before + 1, 'without credentials, they are installed');
});
