import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  mkdirSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { filesIn } from '../../cli/folder/files.ts';
import { nameOf } from '../../cli/folder/target.ts';
import { digestOf } from '../functions/sources/source-world.ts';
import { app, deployment, id, world, type Reply, type Seen } from './world.ts';

const base = '/api/v1/projects/shop';
const page = 'console.log("hello")\n';
const node = { 'package.json': '{"name":"@shop/Web App","scripts":{"start":"node server.js"}}', 'server.js': page };

/** A folder outside every git repository. */
function folderWith(t: Test, files: Record<string, string>): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-folder-')));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

/** An API that has an app or not, and stores what is sent. */
async function platform(t: Test, { exists = false }: { exists?: boolean } = {}) {
  const stored = new Set<string>();
  let created = exists;
  const accepted = { id, revision: 1, status: 'accepted', statusUrl: 'http://x' };
  const view = { ...app, name: 'web-app', url: 'http://web-app.test' };
  const routes: Record<string, (request: Seen) => Reply> = {
    [`GET ${base}/apps/web-app`]: () =>
      created ? { body: view } : { status: 404, body: { code: 'not_found', message: 'no' } },
    [`POST ${base}/apps`]: () => {
      created = true;
      return { status: 201, body: view };
    },
    [`PATCH ${base}/apps/web-app`]: () => ({ body: view }),
    [`POST ${base}/sources/missing`]: ({ body }) => ({
      body: { missing: (body as { digests: string[] }).digests.filter((digest) => !stored.has(digest)) },
    }),
    [`POST ${base}/sources/chunks`]: ({ body }) => {
      const digests = (body as { chunks: string[] }).chunks.map((chunk) => digestOf(Buffer.from(chunk, 'base64')));
      for (const digest of digests) stored.add(digest);
      return { body: { digests } };
    },
    [`GET ${base}/apps`]: () => ({ body: { items: [] } }),
    [`POST ${base}/apps/web-app/source/builds`]: () => ({ status: 202, body: accepted }),
    [`GET ${base}/builds/${id}/logs`]: ({ query }) => {
      const log = 'installing\nbuilt\n'.slice(Number(query['offset'] ?? 0));
      return { body: { log, offset: 17, ended: true, truncated: false } };
    },
    [`GET ${base}/deployments/${id}`]: () => ({ body: { ...deployment, app: 'web-app', status: 'succeeded' } }),
  };
  const cli = await world(t, routes);
  const sent = (path: string) =>
    cli.seen.filter(({ method, path: of }) => method === 'POST' && of === `${base}${path}`);
  return { ...cli, stored, sent };
}

t.test('a folder becomes an app at one command, and the next one updates it with what has changed', async (t) => {
  const { run, sent } = await platform(t);
  const folder = folderWith(t, { ...node, '.env': 'PASSWORD=x', 'node_modules/a/index.js': '' });
  const first = await run(['deploy', folder, '--project', 'shop', '--port', '3000']);
  t.equal(first.code, 0, first.stderr);
  t.match(first.stdout, /URL: +http:\/\/web-app.test/);
  t.match(first.stderr, /web-app: Node app \(package.json\), started with: node server.js/);
  t.match(first.stderr, /installing\nbuilt\n/, 'the output of the build');
  t.match(sent('/apps')[0]?.body, { name: 'web-app', upload: true, port: 3000 });
  t.match(sent('/apps/web-app/source/builds')[0]?.body, {
    files: [{ path: 'package.json' }, { path: 'server.js', chunks: [digestOf(page)], size: page.length }],
  });
  t.equal(
    readFileSync(join(folder, 'svc.yaml'), 'utf8'),
    'project: shop\napps:\n  web-app:\n    build: .\n    port: 3000\n',
  );
  t.equal(sent('/sources/chunks').length, 1);

  writeFileSync(join(folder, 'server.js'), `${page}// more\n`);
  const second = await run(['deploy', folder, '-o', 'json'], { env: { SVC_PROJECT: '' } });
  t.equal(second.code, 0, second.stderr);
  t.match(JSON.parse(second.stdout), { url: 'http://web-app.test', status: 'succeeded' });
  t.equal(sent('/apps').length, 1, 'the app is there');
  const [, again] = sent('/sources/chunks');
  t.same(again?.body, { chunks: [Buffer.from(`${page}// more\n`).toString('base64')] }, 'only what has changed');
});

t.test('the line release: of a Procfile is the release command of the app', async (t) => {
  const { run, sent } = await platform(t);
  const folder = folderWith(t, { ...node, Procfile: 'release: npm run migrate\nweb: node server.js\n' });
  const { code, stderr } = await run(['deploy', folder, '--project', 'shop']);
  t.equal(code, 0, stderr);
  t.match(stderr, /started with: node server.js, before each release: npm run migrate/);
  t.match(sent('/apps')[0]?.body, { releaseCommand: ['/bin/sh', '-c', 'npm run migrate'] });
});

t.test('the questions are for project and name, and come on a terminal only', async (t) => {
  const { run, routes, sent } = await platform(t);
  routes['GET /api/v1/projects'] = { body: { items: [] } };
  const folder = folderWith(t, { 'package.json': '{"scripts":{"start":"node ."}}' });
  const without = await run(['deploy', folder], { env: { SVC_PROJECT: '' } });
  t.match(without, { code: 2, stderr: /hint: use --project <project>/ });
  const project = {
    name: 'shop',
    status: 'ready',
    createdAt: app.createdAt,
    environments: [{ name: 'prod', namespace: 'shop-prod', ready: true }],
  };
  routes['POST /api/v1/projects'] = { status: 201, body: project };
  routes[`GET ${base}`] = { body: project };
  const prompted = await run(['deploy', folder], { env: { SVC_PROJECT: '' }, typed: ['shop\n', 'web-app\n'] });
  t.equal(prompted.code, 0, prompted.stderr);
  t.match(prompted.stderr, /project shop is created/);
  t.match(sent('/apps')[0]?.body, { name: 'web-app' });
});

t.test('what is not deployed says why, before anything is sent', async (t) => {
  const { run, seen } = await platform(t);
  const deploy = (files: Record<string, string>, ...more: string[]) => run(['deploy', folderWith(t, files), ...more]);
  t.match(await deploy({}), { code: 2, stderr: /has no Dockerfile, package.json.*\(unknown_folder\)/ });
  t.match(await deploy({ 'package.json': '{}' }), { code: 2, stderr: /no script "start"/ });
  t.match(await deploy(node, '--dockerfile', 'x'), { code: 2, stderr: /no file x/ });
  t.match(await run(['deploy', '/nowhere/at/all']), { code: 2, stderr: /does not exist/ });
  t.match(await deploy({ ...node, 'svc.yaml': 'apps: [' }), { code: 2, stderr: /svc.yaml:1:\d+/ });
  t.match(await deploy({ ...node, 'svc.yaml': 'project: 1' }), { code: 2, stderr: /svc.yaml:1:1: project/ });
  for (const build of ['../..', '/etc', 'nowhere']) {
    const answer = await deploy({ ...node, 'svc.yaml': `project: shop\napps: {web: {build: ${build}}}` });
    t.match(answer, { code: 2, stderr: /does not exist inside/ }, 'the file of a stranger names no private folder');
  }
  t.match(await deploy(node, '--project', 'shop', '--name', 'Web App'), {
    code: 2,
    stderr: /"Web App" is not a valid name.*\nhint: .*--name/,
  });
  const several = 'project: shop\napps: {one: {build: .}, two: {build: .}}';
  t.match(await deploy({ ...node, 'svc.yaml': several }), {
    code: 2,
    stderr: /one, two.*\nhint: choose one with --name/,
  });
  t.same(seen, []);
});

t.test('a Dockerfile that the platform does not build is refused before the upload, with what to do', async (t) => {
  const { run, routes, seen } = await platform(t);
  routes[`GET ${base}/sources`] = () => ({ body: { dockerfiles: false } });
  const deploy = (files: Record<string, string>, ...more: string[]) => run(['deploy', folderWith(t, files), ...more]);
  for (const [content, command] of [
    ['FROM node\nCMD ["node", "a.js"]\ncmd ["node", "server.js", "--port=8080"]\n', 'node server.js --port=8080'],
    ['FROM node\nCMD python3 -m http.server $PORT', 'python3 -m http.server $PORT'],
    ['FROM node\nENTRYPOINT ["sh"]\nCMD ["x"]', '<command>'],
    ['FROM node\nCMD ["sh", "-c", "a b"]', '<command>'],
    ['FROM node\nCMD [broken', '<command>'],
    ['FROM node\nCMD a \\\n  b', '<command>'],
    ['FROM node', '<command>'],
  ] as const) {
    const { code, stderr } = await deploy({ Dockerfile: content });
    t.equal(code, 2);
    t.match(
      stderr,
      /Cannot deploy .*: the embedded cluster runs programs of this machine and no containers, so it cannot/,
    );
    t.ok(stderr.includes(`hint: add a Procfile with the line "web: ${command}", or deploy to a cluster`), stderr);
  }
  t.match(await deploy({ 'docker/prod': 'FROM node' }, '--dockerfile', 'docker/prod'), {
    code: 2,
    stderr: /cannot build docker\/prod/,
  });
  t.notOk(seen.some(({ method }) => method === 'POST'));

  const both = await deploy({ ...node, Dockerfile: 'FROM node' });
  t.equal(both.code, 0, both.stderr);
  t.match(both.stderr, /Dockerfile is ignored: the embedded cluster has no containers and builds the folder instead/);
  routes[`GET ${base}/sources`] = () => ({ body: { dockerfiles: true, languages: ['node', 'static', 'other'] } });
  const built = await deploy({ Dockerfile: 'FROM node' }, '--name', 'web-app');
  t.equal(built.code, 0, built.stderr);
  t.notMatch(built.stderr, /ignored/);

  const uploads = () => seen.filter(({ method }) => method === 'POST').length;
  const before = uploads();
  t.match(await deploy({ 'go.mod': 'module example.com/shop' }), {
    code: 2,
    stderr: /no base image for Go\. \(unknown_folder\)\nhint: add a Dockerfile/,
  });
  t.equal(uploads(), before);
  for (const body of [
    { dockerfiles: true, languages: ['node', 'go'] },
    { dockerfiles: true },
    { dockerfiles: false },
  ]) {
    routes[`GET ${base}/sources`] = () => ({ body });
    t.equal((await deploy({ 'go.mod': 'module example.com/shop' }, '--name', 'web-app')).code, 0);
  }
});

t.test('a platform that builds nothing says so before the upload', async (t) => {
  const { run, routes, seen } = await platform(t);
  const body = { code: 'unavailable', message: 'Builds are not enabled.' };
  routes[`GET ${base}/sources`] = () => ({ status: 503, body });
  t.match(await run(['deploy', folderWith(t, node)]), { code: 1, stderr: /Builds are not enabled/ });
  t.notOk(seen.some(({ method }) => method === 'POST'));
});

t.test('an app that exists keeps its variables and bindings', async (t) => {
  const { run, sent } = await platform(t, { exists: true });
  const folder = folderWith(t, node);
  t.match(await run(['deploy', folder, '--env', 'A=1']), { code: 2, stderr: /for new apps/ });
  t.match(await run(['deploy', folder, '--bind', 'orders']), {
    code: 2,
    stderr: /hint: .*svc app bind web-app orders/,
  });
  t.equal(sent('/apps/web-app/source/builds').length, 0);
});

t.test('a wrong environment and a missing file are found before the upload', async (t) => {
  const { run, routes, seen } = await platform(t);
  const folder = folderWith(t, node);
  t.match(await run(['deploy', folder, '--env-file', '/nowhere']), { code: 2, stderr: /Cannot read \/nowhere/ });
  routes[`GET ${base}/apps`] = { status: 404, body: { code: 'not_found', message: 'It has dev, prod.' } };
  t.match(await run(['deploy', folder, '--environment', 'pord']), { code: 1, stderr: /It has dev, prod/ });
  t.notOk(seen.some(({ method }) => method === 'POST'));
});

t.test('chunks that are gone when the folder is deployed are sent again', async (t) => {
  const { run, routes, stored, sent } = await platform(t);
  const accept = routes[`POST ${base}/apps/web-app/source/builds`];
  let refused = false;
  routes[`POST ${base}/apps/web-app/source/builds`] = (request) => {
    if (refused) return typeof accept === 'function' ? accept(request) : {};
    refused = true;
    stored.clear();
    return { status: 409, body: { code: 'source_incomplete', message: 'gone' } };
  };
  const done = await run(['deploy', folderWith(t, node)]);
  t.equal(done.code, 0, done.stderr);
  t.equal(sent('/sources/chunks').length, 2);
});

t.test('the commit of a checkout is named, and whether the folder differs from it', async (t) => {
  const { run, sent } = await platform(t);
  const folder = folderWith(t, node);
  const git = (...args: string[]) => execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8' }).trim();
  git('init', '--quiet', '--initial-branch', 'main');
  git('add', '.');
  git('-c', 'user.name=Kim', '-c', 'user.email=kim@example.com', 'commit', '--quiet', '--message', 'Say hello');
  const commit = git('rev-parse', 'HEAD');
  await run(['deploy', folder, '--no-wait']);
  await run(['deploy', folder, '--no-wait']);
  const [clean, dirty] = sent('/apps/web-app/source/builds').map(({ body }) => body);
  t.match(clean, { commit, dirty: false, commitMessage: 'Say hello', branch: 'main' });
  t.match(dirty, { commit, dirty: true }, 'with the new svc.yaml');
});

t.test('a function folder creates and then updates its function', async (t) => {
  const { run, routes, seen } = await platform(t);
  const folder = folderWith(t, { 'handler.mjs': 'export const handler = () => ({});' });
  const created = await run(['deploy', folder, '--name', 'hello', '--no-wait']);
  t.match(created.stderr, /hello: function \(handler.mjs\)/);
  t.match(
    seen.findLast(({ method }) => method === 'POST'),
    { path: `${base}/functions`, body: { name: 'hello', runtime: 'node', code: /handler/ } },
  );
  writeFileSync(join(folder, 'svc.yaml'), '# mine\nproject: shop\nfunctions:\n  hello:\n    codeFile: handler.mjs\n');
  routes[`GET ${base}/functions/hello`] = { body: { code: 'not_found' }, status: 404 };
  t.match(await run(['deploy', folder, '--port', '1', '--no-wait']), { code: 2, stderr: /--port is for apps/ });
});

t.test('ignore files and what no build needs decide what is uploaded', (t) => {
  const folder = folderWith(t, {
    '.gitignore': '*.log\n/dist\nsecret*\n',
    '.svcignore': 'notes/\n!dist\n!.env.staging\n',
    'sub/.gitignore': '!keep.log\nlocal\n',
    'sub/keep.log': '',
    'sub/other.log': '',
    'sub/local/a': '',
    'a.log': '',
    'dist/app.js': '',
    'notes/index.md': '',
    '.git/config': '',
    'lib/node_modules/x.js': '',
    '.env': '',
    '.env.local': '',
    '.env.example': '',
    '.env.staging': '',
    'secret.pem': '',
    'run.sh': '',
    'svc.yaml': '',
    'ä b.txt': '',
  });
  chmodSync(join(folder, 'run.sh'), 0o755);
  symlinkSync('run.sh', join(folder, 'start'));
  t.same(
    filesIn(folder).map(({ path, kind }) => `${path}${kind === 'file' ? '' : ` (${kind})`}`),
    ['.env.example', '.env.staging', 'dist/app.js', 'run.sh (program)', 'start (link)', 'sub/keep.log', 'ä b.txt'],
  );
  t.end();
});

t.test('files that cannot be uploaded are named', async (t) => {
  const folderWithSocket = folderWith(t, {});
  const refused = (prepare: (folder: string) => void) => {
    const folder = folderWith(t, { a: '' });
    prepare(folder);
    return () => filesIn(folder);
  };
  const code = 'invalid_source';
  t.throws(
    refused((folder) => symlinkSync('/etc/passwd', join(folder, 'b'))),
    { code, message: /link b leads to the absolute path/ },
  );
  t.throws(
    refused((folder) => symlinkSync('../x', join(folder, 'b'))),
    { code, message: /leads out of the folder/ },
  );
  // As root, every file can be read.
  t.throws(
    refused((folder) => mkdirSync(join(folder, '.svcignore'))),
    { code, message: 'Cannot read .svcignore: illegal operation on a directory.', hint: undefined },
  );
  const server = createServer().listen(join(folderWithSocket, 'socket'));
  await once(server, 'listening');
  t.teardown(() => server.close());
  t.throws(() => filesIn(folderWithSocket), { code, message: /socket is a device, socket or pipe/ });
  t.throws(
    refused((folder) => writeFileSync(join(folder, 'a\nb'), '')),
    { code, message: /control character/ },
  );
  t.throws(
    refused((folder) => writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff])]), '')),
    { code, message: /not valid UTF-8/ },
  );
});

t.test('names become names of workloads', (t) => {
  t.same(['Web App', '@x/y', '9lives', 'a--b', '-', 'é', 'x'.repeat(60)].map(nameOf), [
    'web-app',
    'x-y',
    'lives',
    'a-b',
    '',
    '',
    'x'.repeat(40),
  ]);
  t.notOk(existsSync('svc.yaml'), 'no test has deployed the repository itself');
  t.end();
});
