import { existsSync, lstatSync, mkdtempSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { fetchUpload } from '../../../infra/images/builder/fetch-upload.ts';
import { chunkBytes, chunkOverheadBytes } from '../../../runtime/domain/source-files.ts';
import { close, listen } from '../../../runtime/process/listening.ts';
import { endDeployment } from '../../../runtime/records/deployments.ts';
import { purgeChunks, storeChunks } from '../../../runtime/records/source-chunks.ts';
import { forgetProjectSources, issueSourceToken } from '../../../runtime/records/sources.ts';
import { digestOf, fileOf, projectIds, sourceWorld } from './source-world.ts';

function workspaceFor(t: Test): string {
  const workspace = mkdtempSync(join(tmpdir(), 'svc-build-'));
  t.teardown(() => rmSync(workspace, { recursive: true, force: true }));
  return workspace;
}

const [page, program] = ['<h1>Hello</h1>\n', '#!/bin/sh\nexit 0\n'];
const large = Buffer.alloc(2 * chunkBytes + 17, 'x');
const chunksOf = (content: Buffer) =>
  [0, 1, 2].map((index) => content.subarray(index * chunkBytes, (index + 1) * chunkBytes));

t.test('a folder is sent in chunks, of which a later upload sends only the new ones', async (t) => {
  const { missing, send, stored } = await sourceWorld(t);
  const [first, second] = [digestOf(page), digestOf(program)];
  t.same(await missing([first, second, first]), [first, second].sort());
  t.match(await send([page, page]), { status: 200, body: { digests: [first, first] } });
  t.same(await missing([first, second]), [second]);
  const used = Buffer.byteLength(page) + chunkOverheadBytes;
  t.same(await stored(), { chunks: 1, bytes: used });
  await send([page]);
  t.same(await stored(), { chunks: 1, bytes: used }, 'sending it again changes nothing');
});

t.test('an uploaded folder is deployed, and its build fetches exactly these files, once', async (t) => {
  const { createApp, send, build, pool, sourceUrl } = await sourceWorld(t);
  await createApp('web');
  await send([page, program, '']);
  await send(chunksOf(large));
  const files = [
    fileOf('public/index.html', page),
    { ...fileOf('bin/start.sh', program), kind: 'program' },
    { path: 'large.bin', chunks: chunksOf(large).map(digestOf), size: large.length },
    { path: 'empty' },
    { path: 'public/latest', kind: 'link', target: '../bin/start.sh' },
  ];
  const commit = 'a'.repeat(40);
  const accepted = await build('web', { files, commit, dirty: true, commitMessage: 'Say hello' });
  t.match(accepted, { status: 202, body: { revision: 1, status: 'accepted' } });
  const { id } = accepted.body as { id: string };
  const { rows } = await pool.query(
    `SELECT trigger, commit, commit_message, actor, (SELECT kind FROM work WHERE record_id = d.id) AS kind
     FROM deployments d WHERE id = $1`,
    [id],
  );
  t.same(rows, [
    {
      trigger: 'manual',
      commit: `${commit}-dirty`,
      commit_message: 'Say hello',
      actor: 'admin@svc.local',
      kind: 'builds',
    },
  ]);

  const token = await issueSourceToken(pool, id);
  const credentials = t.testdir({ sourceToken: token ?? '' });
  const workspace = workspaceFor(t);
  t.same(await fetchUpload({ workspace, sourceUrl: sourceUrl(id) }, credentials), { files: 5 });
  const at = (path: string) => join(workspace, 'source', path);
  t.equal(readFileSync(at('public/index.html'), 'utf8'), page);
  t.ok(readFileSync(at('large.bin')).equals(large));
  t.equal(readFileSync(at('empty'), 'utf8'), '');
  t.equal(lstatSync(at('bin/start.sh')).mode & 0o777, 0o755);
  t.equal(lstatSync(at('public/index.html')).mode & 0o111, 0);
  t.equal(readlinkSync(at('public/latest')), '../bin/start.sh');
  await t.rejects(
    fetchUpload({ workspace: workspaceFor(t), sourceUrl: sourceUrl(id) }, credentials),
    { message: /no longer available/ },
    'the token is used',
  );
});

t.test('the files of a deployment that has ended are no longer given out', async (t) => {
  const { createApp, send, build, pool, sourceUrl } = await sourceWorld(t);
  await createApp('web');
  await send([page]);
  const { body } = await build('web', { files: [fileOf('index.html', page)] });
  const { id } = body as { id: string };
  const token = await issueSourceToken(pool, id);
  await endDeployment(pool, id, 'cancelled', 'by its user');
  const answer = await fetch(sourceUrl(id), { headers: { authorization: `Bearer ${token}` } });
  t.equal(answer.status, 401);
  t.equal(await issueSourceToken(pool, id), undefined);
});

t.test('a folder that the app cannot be built from is refused with what to do', async (t) => {
  const { createApp, build, send, api, pool } = await sourceWorld(t);
  await createApp('web');
  await send([page]);
  const absent = digestOf('absent');
  t.match(await build('web', { files: [fileOf('index.html', 'absent'), fileOf('a', page)] }), {
    status: 409,
    body: { code: 'source_incomplete', details: { missing: [absent] } },
  });
  t.match(await build('web', { files: [{ ...fileOf('index.html', page), size: 3 }] }), {
    status: 422,
    body: { code: 'invalid_source', message: 'The size of "index.html" is not that of its chunks.' },
  });
  t.match(await build('web', { files: [fileOf('index.html', page)], dockerfile: '../Dockerfile' }), {
    status: 422,
    body: { code: 'invalid_value' },
  });
  t.match(await build('nobody', { files: [fileOf('index.html', page)] }), { status: 404 });
  await createApp('api', 'shop', { git: { url: 'https://git.example.com/shop/api.git' } });
  t.match(await build('api', { files: [fileOf('index.html', page)] }), {
    status: 409,
    body: { code: 'git_source_configured' },
  });
  const both = { name: 'both', upload: true, image: 'r.test/a:1' };
  t.match(await api.call('POST', '/api/v1/projects/shop/apps', { body: both }), { status: 400 });
  const { rows } = await pool.query('SELECT FROM deployments');
  t.same(rows, [], 'nothing was accepted');
});

t.test('what no upload has used makes room, and goes after a week', async (t) => {
  const { pool, stored } = await sourceWorld(t);
  const { shop, blog } = projectIds;
  const limits = { project: 3 * (1000 + chunkOverheadBytes), total: 4 * (1000 + chunkOverheadBytes) };
  const chunk = (letter: string) => Buffer.alloc(1000, letter);
  const store = (project: string, ...letters: string[]) => storeChunks(pool, project, letters.map(chunk), limits);
  const age = (letter: string, interval: string) =>
    pool.query(`UPDATE source_chunks SET used_at = now() - $2::interval WHERE digest = decode($1, 'hex')`, [
      digestOf(chunk(letter)),
      interval,
    ]);
  const letters = async (project: string) => {
    const { rows } = await pool.query<{ letter: string }>(
      `SELECT chr(get_byte(content, 0)) AS letter FROM source_chunks WHERE project_id = $1 ORDER BY 1`,
      [project],
    );
    return rows.map(({ letter }) => letter).join('');
  };
  await store(shop, 'a', 'b', 'c');
  await t.rejects(store(shop, 'd'), { code: 'source_store_full' }, 'all are in use');
  t.equal(await letters(shop), 'abc');
  await age('a', '2 hours');
  await age('b', '3 hours');
  await store(shop, 'd');
  t.equal(await letters(shop), 'acd', 'the least recently used one made room');
  await store(blog, 'x');
  t.equal(await letters(shop), 'acd');
  await store(blog, 'y');
  t.equal(await letters(blog), 'xy');
  t.equal((await letters(shop)).length, 2, 'at the limit of all, the project that stores most makes room');
  await t.rejects(store(blog, 'z'), { code: 'source_store_full' }, 'no project stores more');
  t.same(await stored('shop'), { chunks: 2, bytes: 2 * (1000 + chunkOverheadBytes) });

  await age('x', '8 days');
  await forgetProjectSources(pool, shop);
  t.equal(await purgeChunks(pool, new Date(Date.now() - 7 * 86_400_000), 100), 3);
  t.same([await stored('shop'), (await stored('blog'))?.chunks], [{ chunks: 0, bytes: 0 }, 1]);
});

t.test('a build whose files are gone says so', async (t) => {
  const { createApp, send, build, pool, sourceUrl } = await sourceWorld(t);
  await createApp('web');
  await send([page]);
  const { body } = await build('web', { files: [fileOf('index.html', page)] });
  const { id } = body as { id: string };
  const token = await issueSourceToken(pool, id);
  await pool.query('DELETE FROM source_chunks');
  const workspace = workspaceFor(t);
  const credentials = t.testdir({ sourceToken: token ?? '' });
  await t.rejects(fetchUpload({ workspace, sourceUrl: sourceUrl(id), pauseMs: 1 }, credentials), {
    message: /the uploaded files cannot be fetched/,
  });
  t.notOk(
    existsSync(join(workspace, 'source/index.html')) && readFileSync(join(workspace, 'source/index.html')).length > 0,
  );
  await t.rejects(fetchUpload({ workspace, sourceUrl: sourceUrl(id) }, '/nowhere'), { message: /was stopped/ });
});

t.test('the step that fetches the files keeps no connection after the last one', { timeout: 20_000 }, async (t) => {
  const closed = Promise.withResolvers<void>();
  const server = createServer((_, response) => {
    response.once('close', closed.resolve);
    // It does not end.
    response.write(`${JSON.stringify({ path: 'index.html', kind: 'file', size: 5 })}\nhello\n`);
  });
  const sourceUrl = `http://127.0.0.1:${await listen(server, 0, '127.0.0.1')}/`;
  t.teardown(() => close(server));
  await fetchUpload({ workspace: workspaceFor(t), sourceUrl }, t.testdir({ sourceToken: 'x' }));
  await closed.promise;
});

t.test('a build waits for a platform that restarts', async (t) => {
  let requests = 0;
  const server = createServer((_, response) => {
    requests++;
    if (requests % 2 === 1) response.destroy();
    else if (requests < 10) response.writeHead(503).end('no available server');
    else response.end(`${JSON.stringify({ path: 'index.html', kind: 'file', size: 5 })}\nhello\n`);
  });
  const workspace = workspaceFor(t);
  const sourceUrl = `http://127.0.0.1:${await listen(server, 0, '127.0.0.1')}/`;
  t.teardown(() => close(server));
  const credentials = t.testdir({ sourceToken: 'x' });
  t.same(await fetchUpload({ workspace, sourceUrl, pauseMs: 1 }, credentials), { files: 1 });
  t.equal(readFileSync(join(workspace, 'source/index.html'), 'utf8'), 'hello');
  t.equal(requests, 10);
});

t.test(
  'the embedded cluster says that it builds no Dockerfile, and refuses a folder that has nothing else',
  async (t) => {
    const { kube, api, createApp, send, build, pool } = await sourceWorld(t);
    await createApp('web');
    await send([page]);
    const shown = async () => api.call('GET', '/api/v1/projects/shop/sources');
    t.match(await shown(), { status: 200, body: { dockerfiles: true, languages: [] } });
    const config = { apiVersion: 'platform.svc/v1', kind: 'PlatformConfig', name: 'platform' };
    const baseImages = { node: 'r/node:1' };
    await kube.mergePatch(config, { spec: { builds: { baseImages } } });
    t.same((await shown()).body, { dockerfiles: true, languages: ['node', 'static', 'other'] });
    await kube.mergePatch(config, { spec: { builds: { baseImages: { go: 'r/go:1' } } } });
    t.match(await shown(), { body: { languages: ['node', 'go', 'static', 'other'] } });
    await kube.mergePatch(config, { spec: { builds: { maker: 'folder' } } });
    const all = ['node', 'python', 'go', 'static', 'other'];
    t.match(await shown(), { status: 200, body: { dockerfiles: false, languages: all } });
    const only = { files: [fileOf('docker/prod', page), fileOf('src/package.json', page)], dockerfile: 'docker/prod' };
    t.match(await build('web', only), {
      status: 422,
      body: {
        code: 'invalid_value',
        message: /^The embedded cluster .* cannot build docker\/prod\. Add a Procfile .*\.$/,
      },
    });
    t.match(await build('web', { files: [fileOf('Dockerfile', page)] }), { status: 422 });
    t.equal((await pool.query('SELECT 1 FROM deployments')).rowCount, 0, 'nothing was accepted');
    for (const other of ['Procfile', 'package.json', 'index.html']) {
      const files = [fileOf('Dockerfile', page), fileOf(other, page)];
      t.equal((await build('web', { files })).status, 202, other);
    }
    await kube.mergePatch(config, { spec: { builds: null } });
    t.match(await shown(), { status: 503, body: { code: 'unavailable' } });
  },
);
