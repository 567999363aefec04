import { createHash, randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { once } from 'node:events';
import t from 'tap';
import { checkSourceFiles, chunkBytes, pathFault, linkFault, sourceLimits } from '../../runtime/domain/source-files.ts';
import { issueSourceToken } from '../../runtime/records/sources.ts';
import { digestOf, fileOf, sourceWorld } from '../functions/sources/source-world.ts';

/**
 * Deployers upload folders, which the platform stores and builds. None may read what another project has stored, write outside
 * its own build's folder, or take so much that others cannot upload.
 */
const secret = 'the password of shop';

t.test('a digest opens nothing of another project, and does not tell whether it is stored there', async (t) => {
  const { createApp, send, missing, build } = await sourceWorld(t);
  await send([secret], 'shop');
  await createApp('web', 'blog');
  const answers = [digestOf(secret), digestOf('never stored')];
  t.same(await missing(answers, 'blog'), [...answers].sort());
  t.match(await build('web', { files: [fileOf('stolen.txt', secret)] }, 'blog'), {
    status: 409,
    body: { code: 'source_incomplete' },
  });
  const { status } = await send([secret], 'blog');
  t.equal(status, 200, 'storing it oneself takes as long and answers the same');
});

t.test('a path leaves the folder in no way', (t) => {
  const hostile = [
    '../x',
    'a/../../x',
    '..',
    '.',
    './x',
    '/etc/passwd',
    'a//b',
    'a/',
    '',
    'a\\..\\x',
    'a\0b',
    'a\nb',
    '\u{7f}',
    '\ud800',
    'x'.repeat(256),
    `${'abcd/'.repeat(201)}x`,
  ];
  for (const path of hostile) {
    t.type(pathFault(path), 'string', JSON.stringify(path).slice(0, 40));
    t.throws(() => checkSourceFiles([{ path, kind: 'file', chunks: [], size: 0 }]), { code: 'invalid_source' });
  }
  for (const path of ['a', 'a b', '...', '..a', 'ä/日本', 'a/.hidden', '-rf', "it's", '$HOME', '*'])
    t.equal(pathFault(path), undefined, path);
  t.end();
});

t.test('a link leads out of the folder in no way, not even through another link', (t) => {
  for (const [path, target] of [
    ['a', '..'],
    ['a', '../x'],
    ['a/b', '../../x'],
    ['a', '/etc/passwd'],
    ['a', ''],
    ['a', 'b/../../x'],
    // With `deep/er/l` leading to the root, this would lead above it.
    ['e', 'deep/er/l/../x'],
    ['a', './b'],
    ['a', 'b\0'],
    ['a', 'x'.repeat(1_001)],
  ] as const) {
    t.type(linkFault(path, target), 'string', `${path} -> ${target.slice(0, 20)}`);
  }
  for (const [path, target] of [
    ['a/b', '../x'],
    ['a/b/c', '../..'],
    ['a', 'b/c'],
    ['bin/x', '../lib/x/y.js'],
    ['a', 'b/'],
  ] as const) {
    t.equal(linkFault(path, target), undefined, `${path} -> ${target}`);
  }
  const link = { path: 'a', kind: 'link', target: 'b', chunks: [], size: 0 } as const;
  const below = { path: 'a/b/c', kind: 'file', chunks: [], size: 0 } as const;
  t.throws(
    () => checkSourceFiles([link, below].map((file) => ({ ...file, chunks: [] }))),
    { code: 'invalid_source' },
    'a file below a link',
  );
  t.throws(() => checkSourceFiles([{ ...link, chunks: ['a'.repeat(64)], size: 1 }]), { code: 'invalid_source' });
  t.throws(
    () =>
      checkSourceFiles([
        { ...below, chunks: [] },
        { ...below, chunks: [] },
      ]),
    { code: 'invalid_source' },
    'twice',
  );
  t.end();
});

t.test('one small chunk does not become a folder without end, nor many files a list without end', async (t) => {
  const { createApp, send, build } = await sourceWorld(t);
  await createApp('web');
  const content = Buffer.alloc(chunkBytes);
  await send([content]);
  const digest = digestOf(content);
  const count = sourceLimits.bytes / chunkBytes;
  const file = (path: string, chunks: number) => ({
    path,
    chunks: Array.from({ length: chunks }, () => digest),
    size: chunks * chunkBytes,
  });
  t.match(await build('web', { files: [file('a', count), file('b', 1)] }), {
    status: 413,
    body: { code: 'source_too_large' },
  });
  t.match(await build('web', { files: [{ ...file('a', count), size: count * chunkBytes + 1 }] }), { status: 400 });
  const files = Array.from({ length: sourceLimits.files + 1 }, (_, index) => ({ path: `f${index}` }));
  t.equal((await build('web', { files })).status, 400);
  t.match(await send([Buffer.alloc(chunkBytes + 1)]), { status: 413, body: { code: 'source_too_large' } });
  t.match(await send(['x'.repeat(chunkBytes), 'y'.repeat(chunkBytes), 'z'.repeat(chunkBytes), 'z'.repeat(500_000)]), {
    status: 413,
    body: { code: 'body_too_large' },
  });
});

t.test('lists of files do not fill the database, neither those of one app nor those of many', async (t) => {
  const { createApp, build, pool } = await sourceWorld(t);
  const path = () => Array.from({ length: 4 }, () => randomBytes(100).toString('hex')).join('/');
  const files = Array.from({ length: 3_000 }, () => ({ path: path(), chunks: [], size: 0 }));
  const stored = async () => {
    const { rows } = await pool.query<{ lists: number }>('SELECT count(*)::int AS lists FROM deployment_sources');
    return rows[0]?.lists;
  };
  await createApp('web');
  for (let count = 0; count < 3; count++) t.equal((await build('web', { files })).status, 202);
  t.equal(await stored(), 1, 'the lists of superseded deployments are deleted');
  const statuses: number[] = [];
  for (let index = 0; index < 30 && statuses.at(-1) !== 409; index++) {
    await createApp(`app${index}`);
    statuses.push((await build(`app${index}`, { files })).status);
  }
  t.equal(statuses.at(-1), 409, `a project waits for its builds after ${statuses.length} lists`);
});

t.test('a viewer neither uploads nor learns what is stored', async (t) => {
  const { createApp, build, become, api } = await sourceWorld(t);
  await createApp('web');
  become('viewer');
  const paths = ['sources/missing', 'sources/chunks', 'apps/web/source/builds'];
  for (const path of paths) {
    t.match(await api.call('POST', `/api/v1/projects/shop/${path}`, { body: {} }), {
      status: 403,
      body: { code: 'forbidden' },
    });
  }
  t.equal((await build('web', { files: [{ path: 'a' }] })).status, 403);
});

t.test('an upload that breaks off leaves no rows, locks or connections', async (t) => {
  const { api, pool, send, stored } = await sourceWorld(t);
  const { hostname, port } = new URL(api.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const head = [
    'POST /api/v1/projects/shop/sources/chunks HTTP/1.1',
    `Host: ${hostname}`,
    'Authorization: Bearer good',
    'Content-Type: application/json',
    'Content-Length: 2000000',
    '',
    '{"chunks":["',
  ];
  socket.write(head.join('\r\n'));
  socket.write('A'.repeat(100_000));
  socket.destroy();
  await once(socket, 'close');
  t.equal((await send(['after it'])).status, 200, 'the next upload does not wait for it');
  t.equal((await stored())?.chunks, 1);
  const { rows } = await pool.query(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`,
  );
  t.same(rows, []);
});

t.test('many uploads at once count exactly, and the sum stays within the limit', async (t) => {
  const { send, stored } = await sourceWorld(t);
  const contents = Array.from({ length: 24 }, (_, index) =>
    createHash('sha512')
      .update(String(index % 12))
      .digest(),
  );
  const answers = await Promise.all(contents.map((content) => send([content])));
  const statuses = new Set(answers.map(({ status }) => status));
  t.ok(
    [...statuses].every((status) => status === 200 || status === 429),
    [...statuses].join(' '),
  );
  const { chunks = 0, bytes = 0 } = (await stored()) ?? {};
  t.ok(chunks <= 12);
  t.equal(bytes, chunks * (64 + 512));
});

t.test('the files of a build are for its own token only', async (t) => {
  const { createApp, send, build, pool, sourceUrl } = await sourceWorld(t);
  await createApp('web', 'shop');
  await createApp('web', 'blog');
  await send([secret], 'shop');
  await send(['public'], 'blog');
  const accept = async (project: string, content: string) =>
    ((await build('web', { files: [fileOf('a.txt', content)] }, project)).body as { id: string }).id;
  const [foreign, own] = [await accept('shop', secret), await accept('blog', 'public')];
  const token = await issueSourceToken(pool, own);
  const get = (id: string, authorization?: string) =>
    fetch(sourceUrl(id), { headers: authorization ? { authorization } : {} });
  for (const [id, authorization] of [
    [foreign, `Bearer ${token}`],
    [foreign, undefined],
    [foreign, 'Bearer '],
    [foreign, `Basic ${token}`],
    [foreign, `Bearer ${'A'.repeat(43)}`],
    ['00000000-0000-0000-0000-000000000000', `Bearer ${token}`],
  ] as const) {
    const answer = await get(id, authorization);
    t.equal(answer.status, 401, `${id} ${authorization?.slice(0, 12)}`);
    t.notMatch(await answer.text(), secret);
  }
  t.equal((await fetch(sourceUrl(own), { method: 'POST', headers: { authorization: `Bearer ${token}` } })).status, 405);
  t.match(await (await get(own, `Bearer ${token}`)).text(), /"a.txt".*\npublic\n$/);
});
