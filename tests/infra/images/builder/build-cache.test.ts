import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
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
import type { Buildah } from '../../../../infra/images/builder/buildah.ts';
import { dependencyLabel, restoreCache } from '../../../../infra/images/builder/dependency-cache.ts';
import { makeGeneratedImage } from '../../../../infra/images/builder/generated-image.ts';
import { addFolderLayer, readLayout, writeLayout, type OciImage } from '../../../../infra/images/builder/oci-image.ts';
import { readSettings } from '../../../../infra/images/builder/settings.ts';

const digestOf = (text: string) => `sha256:${hash('sha256', text)}`;
const layerOf = (name: string) => ({
  mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip',
  digest: digestOf(`${name}, compressed`),
  size: 1_000,
});
const base = digestOf('base image');
const week = 7 * 24 * 3_600_000;
const lock = '{"lockfileVersion":3}';
const app = { 'package.json': '{"scripts":{"start":"node x.js"}}', 'package-lock.json': lock, 'x.js': 'one' };
const withBuild = { ...app, 'package.json': '{"scripts":{"start":"node x.js","build":"tsc"}}' };

/** An image of these layers, as buildah leaves one. */
function image(layers: string[], Env: string[]): OciImage {
  return {
    manifest: {
      schemaVersion: 2,
      config: { mediaType: 'application/vnd.oci.image.config.v1+json', digest: digestOf(''), size: 1 },
      layers: layers.map(layerOf),
    },
    configuration: {
      config: { Env, Entrypoint: ['node'] },
      rootfs: { type: 'layers', diff_ids: layers.map(digestOf) },
      history: layers.flatMap((name) => [{ created_by: name }, { created_by: 'ENV', empty_layer: true }]),
    },
  };
}

function world(t: Test) {
  const root = mkdtempSync(join(tmpdir(), 'svc-build-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  let count = 0;
  /** Builds a folder in a workspace of its own, as `previous` was restored into it. */
  const build = async (
    files: Record<string, string>,
    {
      previous,
      now = week,
      baseDigest = base,
      registries = [],
    }: { previous?: OciImage; now?: number; baseDigest?: string; registries?: string[] } = {},
  ) => {
    const workspace = join(root, String(count++));
    const context = join(workspace, 'source');
    mkdirSync(context, { recursive: true });
    for (const [name, content] of Object.entries(files)) writeFileSync(join(context, name), content);
    if (previous) {
      mkdirSync(join(workspace, 'cache'));
      writeFileSync(join(workspace, 'cache/manifest.json'), JSON.stringify(previous.manifest));
      writeFileSync(join(workspace, 'cache/configuration.json'), JSON.stringify(previous.configuration));
    }
    const calls: string[] = [];
    let result = image([], []);
    const buildah: Buildah = {
      registries,
      variables: [],
      build(file, _name, { isLocal = false, labels = {}, output } = {}) {
        const text = readFileSync(file, 'utf8');
        if (output !== undefined) {
          calls.push(`compile: ${/RUN .*/.exec(text)?.[0] ?? ''}`);
          mkdirSync(output);
          writeFileSync(join(output, 'app'), 'program');
          return Promise.resolve();
        }
        calls.push(`build ${isLocal ? 'source' : 'dependencies'}: ${/RUN .*/.exec(text)?.[0] ?? ''}`);
        const layers = isLocal ? ['base', 'dependencies', 'source'] : ['base', 'dependencies'];
        result = image(layers, isLocal ? ['A=1', 'NODE_ENV=production'] : ['A=1']);
        Object.assign(result.configuration.config ?? {}, { Labels: labels });
        return Promise.resolve();
      },
      push(_name, destination) {
        const [, layout = ''] = /^oci(?:-archive)?:(.*)$/.exec(destination) ?? [];
        calls.push('push');
        if (destination.startsWith('oci:')) writeLayout(layout, result);
        return Promise.resolve();
      },
      pull(layout) {
        result = readLayout(layout);
        calls.push(`pull ${result.manifest.layers.length} layers with ${result.configuration.config?.Env?.join()}`);
        return Promise.resolve();
      },
      inspect: () => Promise.resolve({ environment: ['A=$1'], layers: 2 }),
      digestOf: () => Promise.resolve(baseDigest),
    };
    const settings = readSettings({
      BUILD_WORKSPACE: workspace,
      BUILD_IMAGE: 'r.test/builds/shop-prod/api:1',
      BUILD_TARGET: 'r.test/builds/shop-prod/api:1',
      BUILD_BASE_NODE: 'r.test/node:1',
      BUILD_BASE_PYTHON: 'r.test/python:1',
      BUILD_BASE_GO: 'r.test/go:1',
      BUILD_RESULT: join(workspace, 'result'),
    });
    const archive = join(workspace, 'image.tar');
    await makeGeneratedImage(settings, { context, buildah, archive, now });
    if (existsSync(archive)) {
      mkdirSync(join(workspace, 'unpacked'));
      execFileSync('tar', ['--extract', '--file', archive, '--directory', join(workspace, 'unpacked')]);
      result = readLayout(join(workspace, 'unpacked'));
    }
    return { calls, image: result, workspace, cacheIsLeft: existsSync(join(workspace, 'cache')) };
  };
  return { root, build };
}

t.test('dependencies that have not changed are taken from the last image, and no container runs', async (t) => {
  const { build } = world(t);
  const first = await build(app);
  t.match(first.calls, [/build dependencies: RUN npm ci .* && npm prune/, 'push']);
  t.same(
    first.image.manifest.layers.slice(0, 2).map(({ digest }) => digest),
    ['base', 'dependencies'].map((name) => layerOf(name).digest),
  );
  t.equal(first.image.manifest.layers.length, 3);
  t.match(first.image.configuration, {
    config: { Env: ['A=1'], Entrypoint: ['tini', '--', 'sh', '-c', 'exec node x.js'], Cmd: [] },
    rootfs: { diff_ids: [digestOf('base'), digestOf('dependencies'), /^sha256:/] },
  });

  const second = await build({ ...app, 'x.js': 'two' }, { previous: first.image });
  t.same(second.calls, []);
  const [dependencies, layers] = [first.image.manifest.layers.slice(0, 2), second.image.manifest.layers];
  t.same(layers.slice(0, 2), dependencies);
  t.equal(layers.length, 3, 'the files of the last image are left out');
  t.not(layers[2]?.digest, first.image.manifest.layers[2]?.digest);
  const history = second.image.configuration.history ?? [];
  t.equal(history.filter(({ empty_layer: isEmpty }) => isEmpty !== true).length, 3, 'one entry for each layer');
  const third = await build({ ...app, Procfile: 'web: node y.js' }, { previous: second.image });
  t.same(third.calls, []);
  t.match(third.image.configuration.config?.Entrypoint, ['tini', '--', 'sh', '-c', 'exec node y.js']);
});

t.test('a Go program is compiled in each build, and its image has neither toolchain nor modules', async (t) => {
  const { build } = world(t);
  const module = { 'go.mod': 'module example.com/shop', 'main.go': 'package main' };
  const first = await build(module);
  t.match(first.calls, [/^compile: RUN CGO_ENABLED=0 go build /, /^build dependencies: $/, 'push']);
  t.match(first.image.configuration.config?.Entrypoint, ['tini', '--', 'sh', '-c', 'exec ./.svc/app']);
  const second = await build({ ...module, 'main.go': 'package main // two' }, { previous: first.image });
  t.match(second.calls, [/^compile: /], 'the base image of the program is in the registry');
  t.equal(second.image.manifest.layers.length, 3);
  t.equal(readFileSync(join(second.workspace, 'source/.svc/app'), 'utf8'), 'program');
});

t.test('anything that the dependencies follow from makes them new', async (t) => {
  const { build } = world(t);
  const { image: previous } = await build(app);
  const changes: [string, Record<string, string>, object][] = [
    ['the lock file', { ...app, 'package-lock.json': '{"lockfileVersion":2}' }, {}],
    [
      'package.json, whose scripts run',
      { ...app, 'package.json': '{"scripts":{"start":"node x.js","prepare":"x"}}' },
      {},
    ],
    ['the base image', app, { baseDigest: digestOf('patched base image') }],
    ['the package registry', app, { registries: ['https://npm.test/'] }],
    ['a week', app, { now: 2 * week }],
    ['no lock file', { 'package.json': app['package.json'], 'x.js': 'one' }, {}],
    ['a build script', withBuild, {}],
  ];
  for (const [what, files, options] of changes) {
    const { calls, cacheIsLeft } = await build(files, { previous, ...options });
    t.match(calls[0], /^build dependencies/, what);
    t.equal(cacheIsLeft, false, 'the workspace is limited');
  }
  const unlocked = await build({ 'package.json': app['package.json'] });
  t.notOk(unlocked.image.configuration.config?.Labels?.[dependencyLabel], 'nothing that a later build could use');
});

t.test('a script that builds runs in a container that begins with the dependencies', async (t) => {
  const { build } = world(t);
  const first = await build(withBuild);
  t.match(first.calls, [
    /build dependencies: RUN npm ci [^&]*$/,
    /build source: RUN npm run build && npm prune/,
    'push',
  ]);
  const second = await build({ ...withBuild, 'x.js': 'two' }, { previous: first.image });
  // As after `npm ci`: with NODE_ENV=production, some builds would make something else.
  t.equal(second.calls[0], 'pull 2 layers with A=$1');
  t.notMatch(first.image.configuration.config?.Labels?.[dependencyLabel], '$', 'buildah replaces variables in labels');
  t.equal(second.cacheIsLeft, false);
  t.match(second.calls.slice(1), [/build source: RUN npm run build && npm prune/, 'push']);
});

t.test('Python packages are kept, and a folder with an ignore file is copied by buildah, which reads it', async (t) => {
  const { build } = world(t);
  const python = { 'requirements.txt': 'flask==3.1.0\n', 'main.py': '1' };
  const first = await build(python);
  t.match(first.calls, [/build dependencies/, 'push']);
  t.same((await build({ ...python, 'main.py': '2' }, { previous: first.image })).calls, []);
  const changed = await build({ ...python, 'requirements.txt': 'flask==3.1.1\n' }, { previous: first.image });
  t.match(changed.calls, [/build dependencies/, 'push']);
  t.match((await build({ ...app, '.dockerignore': 'notes.txt' })).calls, [
    /build dependencies/,
    /build source/,
    'push',
  ]);
});

t.test('a label that no build of the platform wrote is not believed', async (t) => {
  const { build } = world(t);
  const { image: honest } = await build(app);
  const label = honest.configuration.config?.Labels?.[dependencyLabel] ?? '';
  const fields = JSON.parse(label) as object;
  const labels = [
    '',
    '{',
    '[]',
    'null',
    ...[0, -1, 1.5, 9, '2'].map((layers) => JSON.stringify({ ...fields, layers })),
  ];
  labels.push(JSON.stringify({ ...fields, environment: [1] }), JSON.stringify({ ...fields, key: 1 }));
  for (const forged of labels) {
    const { manifest, configuration } = honest;
    const config = { ...configuration.config, Labels: { [dependencyLabel]: forged } };
    const { calls } = await build(app, { previous: { manifest, configuration: { ...configuration, config } } });
    t.match(calls[0], /^build dependencies/, forged);
  }
  const { manifest, configuration } = honest;
  const short = { manifest: { ...manifest, layers: manifest.layers.slice(1) }, configuration };
  t.match((await build(app, { previous: short })).calls[0], /^build dependencies/, 'a layer is missing');
});

t.test('a lock file that is a link to a file of the build container is refused', async (t) => {
  const { root, build } = world(t);
  writeFileSync(join(root, 'secret'), 'x');
  const { workspace } = await build(app);
  rmSync(join(workspace, 'source/package-lock.json'));
  symlinkSync(join(root, 'secret'), join(workspace, 'source/package-lock.json'));
  const settings = readSettings({
    BUILD_WORKSPACE: workspace,
    BUILD_IMAGE: 'r/x:1',
    BUILD_TARGET: 'r/x:1',
    BUILD_BASE_NODE: 'r/n:1',
    BUILD_RESULT: 'x',
  });
  const unused = () => Promise.reject(new Error('nothing is built'));
  const buildah = {
    registries: [],
    variables: [],
    build: unused,
    push: unused,
    pull: unused,
    inspect: unused,
    digestOf: unused,
  };
  const options = { context: join(workspace, 'source'), buildah, archive: join(workspace, 'image.tar'), now: 0 };
  await t.rejects(makeGeneratedImage(settings, options), {
    name: 'BuildFailure',
    message: /is a link to a file outside/,
  });
});

t.test('a layer has the files of the folder in /app, which belong to root', async (t) => {
  const folder = t.testdir({
    'a b.js': '1',
    '-x': '2',
    '.hidden': '3',
    sub: { deep: '4' },
    link: t.fixture('symlink', './sub/deep'),
  });
  chmodSync(join(folder, 'a b.js'), 0o755);
  const layout = join(mkdtempSync(join(tmpdir(), 'svc-layout-')), 'layout');
  t.teardown(() => rmSync(join(layout, '..'), { recursive: true, force: true }));
  const { digest, diffId, size } = await addFolderLayer(layout, folder);
  const blob = readFileSync(join(layout, 'blobs/sha256', digest.slice(7)));
  t.equal(digest, `sha256:${hash('sha256', blob)}`);
  t.equal(size, blob.length);
  const content = execFileSync('gzip', ['--decompress', '--stdout'], { input: blob });
  t.equal(diffId, `sha256:${hash('sha256', content)}`);
  const list = execFileSync('tar', ['--list', '--verbose', '--numeric-owner'], { input: content, encoding: 'utf8' });
  const lines = list
    .trim()
    .split('\n')
    .map((line) => line.replace(/^(.)..(.)\S+ (\S+) .*:\d\d /, '$1$2 $3 '));
  t.same(lines.toSorted(), [
    '-- 0/0 app/-x',
    '-- 0/0 app/.hidden',
    '-- 0/0 app/sub/deep',
    '-x 0/0 app/a b.js',
    'dx 0/0 app/sub/',
    'lx 0/0 app/link -> ./sub/deep',
  ]);
});

/** Restores a cache from a registry that sends these texts. skopeo, which only the builder's image has, is a script here. */
function registry(t: Test, root: string) {
  const programs = join(root, 'programs');
  const skopeo = join(programs, 'skopeo');
  mkdirSync(programs);
  const path = process.env['PATH'];
  process.env['PATH'] = `${programs}${delimiter}${path}`;
  t.teardown(() => (process.env['PATH'] = path));
  return async (cacheDigest: string, texts: { manifest: string; configuration: string }, program?: string) => {
    for (const [name, text] of Object.entries(texts)) writeFileSync(join(programs, name), text);
    writeFileSync(join(programs, 'calls'), '');
    const answer = `case "$*" in *--config*) cat "${programs}/configuration" ;; *) cat "${programs}/manifest" ;; esac`;
    writeFileSync(skopeo, `#!/bin/sh\nprintf '%s\\n' "$*" >>"${programs}/calls"\n${program ?? answer}\n`, {
      mode: 0o755,
    });
    const workspace = mkdtempSync(join(root, 'restore-'));
    const image = 'r.test:5000/builds/shop-prod/api:2';
    const settings = readSettings({
      BUILD_WORKSPACE: workspace,
      BUILD_IMAGE: image,
      BUILD_TARGET: image,
      BUILD_CACHE_DIGEST: cacheDigest,
      BUILD_RESULT: join(workspace, 'result'),
    });
    await restoreCache(settings);
    const calls = readFileSync(join(programs, 'calls'), 'utf8').trim().split('\n');
    return { restored: existsSync(join(workspace, 'cache/manifest.json')), calls, workspace };
  };
}

/** The texts of an image, whose manifest names its configuration. */
function textsOf({ manifest, configuration }: OciImage, size?: number): { manifest: string; configuration: string } {
  const text = JSON.stringify(configuration);
  const layers = manifest.layers.map((layer) => ({ ...layer, size: size ?? layer.size }));
  const config = { ...manifest.config, digest: digestOf(text), size: text.length };
  return { manifest: JSON.stringify({ ...manifest, layers, config }), configuration: text };
}

t.test('the last image is read from the repository of the app, and only as its digest names it', async (t) => {
  const { root, build } = world(t);
  const restore = registry(t, root);
  const { image: last } = await build(app);
  const texts = textsOf(last);
  const digest = digestOf(texts.manifest);
  const { restored, calls } = await restore(digest, texts);
  t.equal(restored, true);
  t.same(calls, [
    `inspect --raw --tls-verify=true docker://r.test:5000/builds/shop-prod/api@${digest}`,
    `inspect --raw --tls-verify=true --config docker://r.test:5000/builds/shop-prod/api@${digest}`,
  ]);
  const configuration = JSON.stringify({ ...last.configuration, created: 'x' });
  const unlabelled = textsOf(image(['base', 'source'], []));
  for (const [what, named, sent, program] of [
    ['another manifest', digestOf('another'), texts],
    ['another configuration', digest, { ...texts, configuration }],
    ['a manifest that is none', digestOf('{'), { ...texts, manifest: '{' }],
    ['an image of a Dockerfile', digestOf(unlabelled.manifest), unlabelled],
    ['an error', digest, texts, 'exit 1'],
    ['an answer without an end', digest, texts, 'exec yes'],
  ] as const) {
    t.equal((await restore(named, sent, program)).restored, false, what);
  }
});

t.test('the layers are fetched for a container only, and not those of a large image', async (t) => {
  const { root, build } = world(t);
  const restore = registry(t, root);
  const { image: last } = await build(withBuild);
  const texts = textsOf(last);
  const { restored, calls, workspace } = await restore(digestOf(texts.manifest), texts);
  t.equal(restored, true);
  t.match(calls.at(-1), /^--policy \S+ --tmpdir \S+ copy --quiet --src-tls-verify=true docker:\/\/\S+ oci:/);
  t.ok(calls.at(-1)?.endsWith(` oci:${workspace}/cache/image`));
  const large = textsOf(last, 512 * 1024 * 1024);
  const refused = await restore(digestOf(large.manifest), large);
  t.equal(refused.restored, false);
  t.equal(refused.calls.length, 2, 'nothing is copied');
});
