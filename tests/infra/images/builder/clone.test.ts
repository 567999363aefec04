import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { buildImage, pushImage } from '../../../../infra/images/builder/build.ts';
import { writeCertificates } from '../../../../infra/images/builder/certificates.ts';
import { clone } from '../../../../infra/images/builder/clone.ts';
import { generateBuild, goDockerfile } from '../../../../infra/images/builder/generated-build.ts';
import { planOf } from '../../../../infra/images/builder/plan.ts';
import type { BuildSettings } from '../../../../infra/images/builder/settings.ts';
import { selfSignedCertificate } from '../../../../infra/local/apiserver/certificate.ts';
import { createImageUploadServer } from '../../../../infra/local/image-upload.ts';
import { createImageStore } from '../../../../infra/local/node/images.ts';
import type { Language } from '../../../../runtime/domain/folder-plan.ts';
import { createGit } from '../../../../runtime/git/git.ts';
import { GitError } from '../../../../runtime/git/failure.ts';
import { gitServer } from '../../../support/git-server.ts';
import { noSshServer, sshGitServer } from '../../../support/ssh-server.ts';
import { silentLog } from '../../../support/log.ts';

const skip = { skip: noSshServer };
const token = 'glpat-SECRETsecret1234';

type GitBuild = BuildSettings & { url: string };

function settings(t: Test, url: string, more: Partial<GitBuild> = {}): GitBuild {
  const workspace = mkdtempSync(join(tmpdir(), 'svc-build-'));
  t.teardown(() => rmSync(workspace, { recursive: true, force: true }));
  return {
    workspace,
    url,
    sourceUrl: undefined,
    branch: 'main',
    commit: undefined,
    path: '.',
    dockerfile: undefined,
    hostKeys: undefined,
    gitNetworks: ['127.0.0.1/32'],
    image: 'localhost:5000/builds/shop-prod/api:1',
    target: 'localhost:5000/builds/shop-prod/api:1',
    cacheDigest: undefined,
    plainHttp: true,
    baseImages: { node: 'r/node:1', python: 'r/python:1' },
    resultFile: join(workspace, 'result'),
    ...more,
  };
}

t.test('one commit is fetched with the credentials, and no credentials or git data remain', async (t) => {
  const server = await gitServer(t, { token });
  const first = server.push({ 'a.txt': 'one' }, { message: 'First\n\nwith more' });
  const second = server.push({ 'a.txt': 'two' });
  const credentialsFolder = t.testdir({ token: `${token}\n` });
  const settingsWith = (more: Partial<GitBuild>) => settings(t, server.url(), more);
  for (const [commit, text] of [
    [undefined, 'two'],
    [second, 'two'],
    [first, 'one'],
    [first.slice(0, 8), 'one'],
  ] as const) {
    const one = settingsWith({ commit });
    const folder = one.workspace;
    const result = await clone(one, { credentialsFolder, env: process.env });
    t.equal(result.commit, text === 'one' ? first : second);
    t.equal(readFileSync(join(folder, 'source/a.txt'), 'utf8'), text);
    t.same(readdirSync(join(folder, 'source')), ['a.txt'], 'no .git');
    t.throws(() => execFileSync('grep', ['-r', token, folder]), 'the token is in no file');
    if (text === 'one') t.match(result, { commitMessage: 'First', commitAuthor: 'Kim' });
  }
  await t.rejects(clone(settingsWith({ commit: 'f'.repeat(40) }), { credentialsFolder, env: process.env }), {
    name: 'BuildFailure',
    message: /not among the last 1000 commits/,
  });
  await t.rejects(clone(settingsWith({ branch: 'none' }), { credentialsFolder, env: process.env }), {
    name: 'BuildFailure',
  });
  const refused = clone(settingsWith({}), { credentialsFolder: '/nowhere', env: process.env });
  await t.rejects(refused, { name: 'BuildFailure', message: /does not exist or is private/ });
});

t.test('over ssh a build reads with the deploy key, and only from a server that proves its key', skip, async (t) => {
  const server = await sshGitServer(t);
  const commit = server.push({ 'a.txt': 'one' });
  const [key, other] = [server.makeKey('deploy'), server.makeKey('other')];
  server.admit(key.publicKey);
  const hostKeys = [server.knownHosts().trim().split(' ').slice(-2).join(' ')];
  const read = (deployKey: string) => {
    const buildSettings = settings(t, server.url, { hostKeys });
    const credentialsFolder = t.testdir({ deployKey });
    return clone(buildSettings, { credentialsFolder, env: process.env }).then((result) => ({ result, buildSettings }));
  };
  const { result, buildSettings } = await read(key.privateKey);
  t.equal(result.commit, commit);
  t.throws(() => execFileSync('grep', ['-r', 'PRIVATE KEY', buildSettings.workspace]), 'the key is in no file');
  await t.rejects(read(other.privateKey), { name: 'BuildFailure', message: /refused the deploy key/ });
  await server.changeHostKey();
  await t.rejects(read(key.privateKey), {
    name: 'BuildFailure',
    message: /host key of the git server changed \(SHA256:/,
  });
});

t.test('git executes nothing that a repository or an address could inject', async (t) => {
  const folder = t.testdir({ home: {}, repo: {} });
  const marker = join(folder, 'marker');
  const git = createGit({ folder: join(folder, 'home'), env: process.env });
  const options = { timeoutMs: 10_000 };
  for (const url of [
    `ext::sh -c touch% ${marker}`,
    `file://${folder}/repo`,
    join(folder, 'repo'),
    `--upload-pack=touch ${marker}`,
  ]) {
    await t.rejects(git(['ls-remote', '--', url], options), GitError, url);
  }
  t.notOk(existsSync(marker));
  await t.rejects(git(['ls-remote', '--', 'http://127.0.0.1:1/x'], options), GitError);
  const { address, close } = await silentServer();
  await t.rejects(git(['ls-remote', '--', address], { timeoutMs: 300 }), /did not finish within/);
  const stop = new AbortController();
  const stopped = git(['ls-remote', '--', address], { ...options, signal: stop.signal });
  stop.abort();
  await t.rejects(stopped, GitError);
  await close();
});

/** Accepts connections and never answers. */
async function silentServer() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const bound = server.address();
  const port = typeof bound === 'object' && bound ? bound.port : 0;
  return {
    address: `http://127.0.0.1:${port}/x`,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

t.test('files determine how a program is built and started', (t) => {
  const plan = (files: Record<string, string>) => planOf(t.testdir(files));
  t.same(plan({ 'package.json': '{"scripts":{"start":"node x.js"}}' }), { language: 'node', start: 'node x.js' });
  t.same(plan({ 'package.json': '{}', Procfile: 'web: npm run web' }), { language: 'node', start: 'npm run web' });
  t.same(plan({ 'requirements.txt': '', Procfile: 'web: gunicorn x' }), { language: 'python', start: 'gunicorn x' });
  t.same(plan({ 'main.py': '' }), { language: 'python', start: 'python3 main.py' });
  for (const files of [{}, { 'package.json': '{}' }, { 'package.json': '{' }, { 'requirements.txt': '' }] as Record<
    string,
    string
  >[]) {
    t.throws(() => plan(files), { name: 'BuildFailure' });
  }
  t.same(plan({ 'pyproject.toml': '', 'app.py': '' }), { language: 'python', start: 'python3 app.py' });
  t.same(plan({ 'go.mod': '' }), { language: 'go', start: './.svc/app' });
  t.same(plan({ Procfile: 'web: ./server' }), { language: 'other', start: './server' });
  t.same(plan({ 'index.html': '' }), { language: 'static', start: 'node .svc/static-server.mjs' });
  const text = (language: Language, files: string[], available: string[] = []) =>
    generateBuild(
      { language, start: 'node x.js' },
      { node: 'r/n:1', go: 'r/g:1' },
      { has: (file) => files.includes(file), read: () => '{}' },
      available,
    ).dockerfile;
  t.match(
    text('node', ['package-lock.json']),
    /FROM r\/n:1\n(.*\n)*RUN npm ci .*\n(.*\n)*USER 10001:10001\nENTRYPOINT/,
  );
  t.match(text('node', [], ['npm_config_registry']), /ARG npm_config_registry\n(.*\n)*RUN npm install/);
  t.match(text('node', [], ['NODE_EXTRA_CA_CERTS', 'PIP_INDEX_URL']).match(/^ARG .*$/gm), ['ARG NODE_EXTRA_CA_CERTS']);
  t.notMatch(text('node', []), /ARG/, 'buildah warns about an argument without a value');
  t.match(text('go', [], ['GOPROXY']), /FROM r\/n:1\n(.*\n)*COPY . .\n/);
  t.match(text('static', []), /FROM r\/n:1\n(.*\n)*COPY . .\n/);
  t.throws(() => text('python', []), { message: /no base image for Python: add a Dockerfile/ });
  t.end();
});

t.test('a Go module is compiled in an image of its own, from which only the program is taken', (t) => {
  const all = { node: 'r/n:1', go: 'r/g:1' };
  const [, first, second] = goDockerfile(all, []).split(/^FROM /m);
  t.match(first, /^r\/g:1 AS compiled\n(.*\n)*COPY \. \.\nRUN CGO_ENABLED=0 go build .* -o \/program \.\n$/);
  t.equal(second, 'scratch\nCOPY --from=compiled /program /app\n');
  const declared = goDockerfile(all, ['GOPROXY', 'SSL_CERT_FILE', 'npm_config_registry']);
  t.same(declared.match(/^ARG .*$/gm), ['ARG GOPROXY', 'ARG SSL_CERT_FILE']);
  for (const images of [{}, { node: 'r/n:1' }, { go: 'r/g:1' }]) {
    t.throws(() => goDockerfile(images, []), { message: /no base image for Go: add a Dockerfile/ });
  }
  t.end();
});

t.test('a folder image is stored under the name of a built image, and under no other', async (t) => {
  const server = await gitServer(t);
  server.push({ 'package.json': '{"scripts":{"start":"node x.js"}}', 'x.js': '1', 'sub/main.py': '' });
  const store = createImageStore(t.testdir({}));
  const uploads = Buffer.from('builder:s3cret').toString('base64');
  const intake = createImageUploadServer({
    images: store,
    log: silentLog,
    prefix: 'localhost:5000/builds/',
    credentials: () => Promise.resolve(uploads),
    deletionCredentials: () => Promise.resolve(undefined),
    maxBytes: 100_000,
  });
  const port = await intake.start(0);
  t.teardown(() => intake.stop());
  const target = `127.0.0.1:${port}/builds/shop-prod/api:1`;
  const authFile = (auth: string) =>
    t.testdir({ '.dockerconfigjson': JSON.stringify({ auths: { [`127.0.0.1:${port}`]: { auth } } }) });
  process.env['REGISTRY_AUTH_FILE'] = join(authFile(uploads), '.dockerconfigjson');
  t.teardown(() => delete process.env['REGISTRY_AUTH_FILE']);
  const make = async (more: Partial<GitBuild> = {}) => {
    const buildSettings = settings(t, server.url(), { target, ...more });
    await clone(buildSettings, { credentialsFolder: '/nowhere', env: process.env });
    const result = async () => {
      await buildImage(buildSettings, 'folder');
      return pushImage(buildSettings, 'folder');
    };
    return { buildSettings, result };
  };
  const image = await (await make()).result();
  t.match(image, { image: 'localhost:5000/builds/shop-prod/api:1', digest: /^sha256:[0-9a-f]{64}$/ });
  t.match(await store.find(`localhost:5000/builds/shop-prod/api@${image.digest}`), {
    entrypoint: ['tini', '--', 'sh', '-c', 'exec node x.js'],
  });
  await t.rejects((await make({ image: 'localhost:5000/svc/platform:1' })).result(), { message: /refused the image/ });
  t.equal(await store.find('localhost:5000/svc/platform:1'), undefined);

  const outsideLink = await make({ path: 'link' });
  symlinkSync('/etc', join(outsideLink.buildSettings.workspace, 'source/link'));
  await t.rejects(outsideLink.result(), { name: 'BuildFailure', message: /is outside the repository/ });
  await t.rejects((await make({ path: 'none' })).result(), { message: /has no folder none/ });
  const large = await make();
  writeFileSync(join(large.buildSettings.workspace, 'source/large'), Buffer.alloc(300_000));
  await t.rejects(large.result(), 'an image that is too large');

  const put = (name: string, { authorization = `Basic ${uploads}`, ...headers }: Record<string, string>) =>
    fetch(`http://127.0.0.1:${port}/images/${encodeURIComponent(name)}`, {
      method: 'PUT',
      headers: { authorization, ...headers },
      body: 'no archive',
    });
  const configuration = JSON.stringify({ entrypoint: ['x'], env: {} });
  t.equal((await put('localhost:5000/builds/a/b:1', {})).status, 400);
  t.equal((await put('localhost:5000/builds/a/b:1', { 'x-configuration': configuration })).status, 400);
  for (const authorization of ['', 'Basic', 'Basic c3RyYW5nZXI=', `Bearer ${uploads}`]) {
    const answer = await put('localhost:5000/builds/shop-prod/api:1', {
      'x-configuration': configuration,
      authorization,
    });
    t.equal(answer.status, 401, `an upload with ${authorization || 'no credentials'}`);
  }
  t.equal((await put('localhost:5000/svc/a:1', { 'x-configuration': configuration })).status, 403);
  t.equal((await fetch(`http://127.0.0.1:${port}/`)).status, 404);
});

t.test('a folder image ignores a Dockerfile, and says what to do when there is nothing else', async (t) => {
  const make = (files: Record<string, string>, more: Partial<GitBuild> = {}) => {
    const buildSettings = settings(t, 'https://git.test/x.git', more);
    mkdirSync(join(buildSettings.workspace, 'source/docker'), { recursive: true });
    for (const [name, content] of Object.entries(files)) {
      writeFileSync(join(buildSettings.workspace, 'source', name), content);
    }
    return buildImage(buildSettings, 'folder');
  };
  await make({ Dockerfile: 'FROM x', Procfile: 'web: ./server' });
  await make({ 'docker/app': 'FROM x', Procfile: 'web: ./server' }, { dockerfile: 'docker/app' });
  const expected = (name: string) =>
    `the embedded cluster runs programs of this machine and no containers, so it cannot build ${name}: add a Procfile with the line "web: <command>", or deploy to a cluster (on this machine: npm start -- --cluster)`;
  await t.rejects(make({ Dockerfile: 'FROM x' }), { name: 'BuildFailure', message: expected('Dockerfile') });
  await t.rejects(make({ 'docker/app': 'FROM x' }, { dockerfile: 'docker/app' }), { message: expected('docker/app') });
  await t.rejects(make({}), { message: /^the folder has no Dockerfile, package.json/ });
});

t.test('a git server with the installation’s own CA is trusted when its certificate is given', async (t) => {
  const tls = selfSignedCertificate('own CA', { names: [], addresses: ['127.0.0.1'] }, new Date());
  const server = await gitServer(t, { tls });
  const commit = server.push({ 'a.txt': 'one' });
  const credentialsFolder = t.testdir({});
  await t.rejects(clone(settings(t, server.url()), { credentialsFolder, env: process.env }), /certificate/i);
  const certificates = writeCertificates(tls.certificate);
  t.teardown(() => rmSync(certificates?.folder ?? '', { recursive: true, force: true }));
  const env = { ...process.env, ...certificates?.variables };
  t.equal((await clone(settings(t, server.url()), { credentialsFolder, env })).commit, commit);
  const git = createGit({ folder: t.testdir({}), env: process.env, caCertificates: tls.certificate });
  t.match(await git(['ls-remote', '--heads', '--', server.url()], { timeoutMs: 20_000 }), commit, 'a poll trusts it');
  t.equal(writeCertificates(undefined), undefined);
});
