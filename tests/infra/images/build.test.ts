import { spawnSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { bases, checkDownload } from '../../../infra/images/base.ts';
import { chooseImages, variantsOf } from '../../../infra/images/build.ts';
import { images } from '../../../infra/images/catalogue.ts';
import { digestOf } from '../../../infra/images/digest.ts';

t.test('the digest of an image changes with its inputs, and only with them', (t) => {
  const root = t.testdir({ a: { one: '1', deep: { two: '2' } }, b: 'b', other: 'x' });
  const digest = () => digestOf(root, ['b', 'a'], 'base:1');
  const first = digest();
  t.equal(digestOf(root, ['a', 'b'], 'base:1'), first, 'the order of the inputs does not change it');
  writeFileSync(join(root, 'other'), 'y');
  t.equal(digest(), first, 'a file outside the inputs does not change it');
  t.not(digestOf(root, ['a', 'b'], 'base:2'), first, 'the base changes it');
  writeFileSync(join(root, 'a/deep/two'), '3');
  const changed = digest();
  t.not(changed, first, 'a nested file changes it');
  chmodSync(join(root, 'b'), 0o755);
  t.not(digest(), changed, 'the executable bit changes it');
  t.end();
});

t.test('every image is built from its own folder, on a base that the build names, and as a numeric user', (t) => {
  const folder = join(import.meta.dirname, '../../../infra/images');
  const withDockerfile = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  t.same(images.map(({ name }) => name).toSorted(), withDockerfile.map(({ name }) => name).toSorted());
  for (const image of images) {
    t.ok(image.inputs.includes(`infra/images/${image.name}`), image.name);
    const dockerfile = readFileSync(join(folder, image.name, 'Dockerfile'), 'utf8');
    // It has no default, so that it is never built on an image that is named by a tag, which a registry can replace.
    t.match(dockerfile, /^ARG BASE$/m, image.name);
    t.match(dockerfile, /^USER 10001:10001$/m, image.name);
    t.match(dockerfile, /^ENTRYPOINT \[("tini", "--", |"\/usr\/local\/bin\/svc-minio")/m, image.name);
    t.notMatch(dockerfile, /^FROM (?!\$\{BASE\})/m, image.name);
  }
  t.end();
});

t.test('the platform image has the compiled files of every process, which the process uses', (t) => {
  const root = join(import.meta.dirname, '../../..');
  const text = readFileSync(join(root, 'infra/manifests/platform/processes.ts'), 'utf8');
  const mains = new Set([...text.matchAll(/main: '([^']+)'/g)].map(([, main = '']) => main));
  t.ok(mains.has('functions/main.ts') && mains.has('runtime/db/main.ts'));
  // It is compiled with its own options (tests/gate/authz/main.test.ts).
  t.ok(mains.delete('gate/authz/main.ts'));
  const dockerfile = readFileSync(join(root, 'infra/images/platform/Dockerfile'), 'utf8').replaceAll('\\\n', '');
  const [, compiled = ''] = /node infra\/images\/platform\/compile\.mjs ([^&]+)&&/.exec(dockerfile) ?? [];
  t.same(compiled.trim().split(/\s+/).toSorted(), [...mains].toSorted());

  const env = { PATH: process.env['PATH'], NODE_COMPILE_CACHE: t.testdir() };
  const program = 'gate/interceptor/main.ts';
  const run = (args: string[], variables = {}) =>
    spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8', env: { ...env, ...variables } });
  const compile = run(['infra/images/platform/compile.mjs', program]);
  t.match(compile, { status: 0, stdout: '', stderr: '' });
  // Without its configuration, it ends when it has loaded everything.
  const { stderr } = run([program], { NODE_DEBUG_NATIVE: 'COMPILE_CACHE' });
  const compiledAgain = stderr.matchAll(/(\S+) was (?:not initialized|rejected)/g);
  t.same(
    [...compiledAgain].map(([, url = '']) => relative(root, fileURLToPath(url))),
    [program],
    'it compiles only what starts it',
  );
  t.ok(stderr.split(' was accepted').length > 100);
  t.end();
});

t.test('an npm package for a base image is used only if it is the one that was pinned', (t) => {
  const refusal = /^npm@11\.21\.2 has the SHA-512 digest \S+==, not 7HPApk\S+; it is not used$/;
  t.throws(() => checkDownload('npm@11.21.2', Buffer.from('another program')), { message: refusal });
  t.throws(() => checkDownload('npm@99.0.0', Buffer.from('x')), { message: /^npm@99\.0\.0 .*not a pinned one/ });
  t.end();
});

t.test('the builder has every file that its program loads, and its digest covers them', (t) => {
  const root = join(import.meta.dirname, '../../..');
  const dockerfile = readFileSync(join(root, 'infra/images/builder/Dockerfile'), 'utf8').replaceAll('\\\n', '');
  const copied = [...dockerfile.matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, from = '']) => from.trim().split(/\s+/));
  const inputs = images.find(({ name }) => name === 'builder')?.inputs ?? [];
  const loaded = new Set(['infra/images/builder/main.ts']);
  for (const path of loaded) {
    const text = readFileSync(join(root, path), 'utf8');
    for (const [, from = ''] of text.matchAll(/^(?:import|export)(?! type)[^;'=]*'(\.[^']+)';/gm)) {
      loaded.add(relative(root, resolve(root, dirname(path), from)));
    }
    t.notMatch(text, /^import (?!type)[^;'=]*'(?!node:|\.)/m, `${path} needs no package`);
  }
  t.ok(loaded.size > 20);
  for (const path of loaded) {
    const parts = path.startsWith('infra/images/builder/') ? ['infra/images/builder'] : [path];
    t.strictSame(
      parts.filter((part) => !copied.includes(part) || !inputs.includes(part)),
      [],
      path,
    );
  }
  t.end();
});

t.test('the digest of the platform covers everything that its Dockerfile copies', (t) => {
  const dockerfile = readFileSync(join(import.meta.dirname, '../../../infra/images/platform/Dockerfile'), 'utf8');
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, from]) => from?.split(' ') ?? []);
  const inputs = images.find(({ name }) => name === 'platform')?.inputs ?? [];
  t.ok(copied.length > 5);
  for (const path of copied) t.ok(inputs.includes(path), path);
  t.end();
});

t.test('an image is tagged with the version, or once for each of its own versions', (t) => {
  t.same(variantsOf({ name: 'a', variants: { version: {} } }, '1.2.3'), [{ key: 'a', tag: '1.2.3', args: {} }]);
  const hello = images.find(({ name }) => name === 'hello');
  t.same(hello && variantsOf(hello, '1.2.3'), [
    { key: 'hello:v1', tag: 'v1', args: { VERSION: 'v1' } },
    { key: 'hello:v2', tag: 'v2', args: { VERSION: 'v2' } },
  ]);
  t.end();
});

t.test('an unknown image name is refused, with the valid names', (t) => {
  t.same(
    chooseImages(['hello']).map(({ name }) => name),
    ['hello'],
  );
  t.equal(chooseImages(undefined).length, images.length);
  t.throws(() => chooseImages(['hello', 'helo']), /helo.*platform, function-node, function-python, hello/);
  t.end();
});

t.test('the platform runs on the Node version of the tests', (t) => {
  const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8')) as {
    devDependencies: Record<string, string>;
  };
  t.equal(bases.node24.node, manifest.devDependencies['node']);
  t.end();
});
