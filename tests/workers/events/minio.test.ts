import t, { type Test } from 'tap';
import { askStore, listObjects, type Bucket } from '../../../runtime/host/object-store.ts';
import { createMinioSource } from '../../../workers/events/minio.ts';
import { storeServer } from '../../support/store-server.ts';
import { eventWorld, type EventWorldOptions } from './event-world.ts';

const server = await storeServer(t, 'minio');
const store = { host: server.host, port: server.port, tls: false, accessKey: 'svc', secretKey: server.password };

let buckets = 0;

async function world(t: Test, options: Partial<EventWorldOptions> = {}) {
  const bucket: Bucket = { ...store, bucket: `uploads-${++buckets}` };
  await askStore(bucket, { method: 'PUT' });
  const settings = { type: 'minio' as const, source: 'files', bucket: bucket.bucket };
  const credentials = { type: 'minio' as const, ...store };
  // A page of the listing holds few, so that there are several.
  const sources: EventWorldOptions['sources'] = {
    minio: (request) => createMinioSource({ pool: made.pool, pageKeys: 3 })(request),
  };
  const made = await eventWorld(t, { sources, settings, credentials, ...options });
  const put = (key: string, body = key) => askStore(bucket, { method: 'PUT', key, body });
  const remove = (key: string) => askStore(bucket, { method: 'DELETE', key });
  const look = async () => {
    await made.turn();
    return (await made.deliver()) as { event: string; key: string; size?: number }[];
  };
  return { ...made, bucket, put, remove, look, credentials };
}

/** Each once, in no order of the alphabet: `a/b` before `a-b` would be wrong, and `ß` comes after all of ASCII. */
const keys = ['a/b', 'a-b', 'a b+c', 'ß', 'z', 'A', '10%', 'x&y<z>', 'dir/sub/file.txt', '日本', '😀', 'ﬀ'];

t.test('what is uploaded, changed and removed is told once, whatever its key is', async (t) => {
  const { put, remove, look, bucket, state } = await world(t);
  for (const key of keys) await put(key);
  const sorted = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const first = await look();
  t.match(
    first,
    sorted.map((key) => ({
      event: 'created',
      bucket: bucket.bucket,
      key,
      size: Buffer.byteLength(key),
      etag: /^\w{32}$/,
    })),
  );
  t.same(await look(), []);
  await put('a/b', 'something else');
  await remove('z');
  await remove('ﬀ');
  await put('new');
  t.match(await look(), [
    { event: 'created', key: 'a/b', size: 14 },
    { event: 'created', key: 'new' },
    { event: 'removed', key: 'z' },
    // In UTF-16, which is not the order of listings, it would come after the emoji.
    { event: 'removed', key: 'ﬀ' },
  ]);
  await put('z');
  t.match(await look(), [{ event: 'created', key: 'z' }], 'what comes back is another one');
  for await (const page of listObjects(bucket)) for (const { key } of page) await remove(key);
  t.equal((await look()).length, keys.length);
  t.same(await look(), []);
  t.equal((await state())?.error, null);
});

t.test('nothing is lost while nobody looks, nor when the reader dies before it has noted what it took', async (t) => {
  let dying = true;
  const { put, turn, look } = await world(t, {
    failpoint: () => {
      if (dying) throw new Error('killed');
    },
  });
  await put('one');
  await put('two');
  await t.rejects(turn(), /killed/);
  dying = false;
  await put('three');
  t.same(
    (await look()).map(({ key }) => key),
    ['one', 'two', 'three'],
    'and none comes twice',
  );
  t.same(await look(), []);
});

t.test('a store that goes and comes back, and what it refuses, is said without its keys', async (t) => {
  const { put, turn, look, state, bind, credentials, id, pool, bucket } = await world(t);
  await put('one');
  await server.stop();
  await turn();
  t.match(await state(), { failures: 1, error: /does not answer \(ECONNREFUSED\)/ });
  await server.start();
  t.match(await look(), [{ event: 'created', key: 'one' }]);
  for (const [changed, expected] of [
    [{ ...credentials, secretKey: 'battery-staple' }, /refused the function: .*SignatureDoesNotMatch/],
    [{ ...credentials, accessKey: 'nobody' }, /InvalidAccessKeyId/],
  ] as const) {
    bind(changed);
    await turn();
    const { error } = (await state()) ?? {};
    t.match(error, expected);
    t.notMatch(error, /battery-staple|correct-horse/);
  }
  bind(credentials);
  await askStore(bucket, { method: 'DELETE', key: 'one' });
  await askStore(bucket, { method: 'DELETE' });
  await turn();
  t.match((await state())?.error, /NoSuchBucket/);
  const { rows } = await pool.query('SELECT 1 FROM event_objects WHERE workload_id = $1', [id]);
  t.equal(rows.length, 1, 'a bucket that is away is not an empty one');
});
