import t, { type Test } from 'tap';
import { listObjects, openObjectStore } from '../../../runtime/services/object-store.ts';
import { createRemoteListing } from '../../../workers/events/remote-source.ts';
import { testClients } from '../../support/clients.ts';
import { createMinioSource } from '../../../workers/events/minio.ts';
import { storeClient } from '../../support/store-client.ts';
import { storeServer } from '../../support/store-server.ts';
import { eventWorld, type EventWorldOptions } from './event-world.ts';

const server = await storeServer(t, 'minio');
const target = { host: server.host, port: server.port, tls: false, accessKey: 'svc', secretKey: server.password };
const store = await openObjectStore(target);
t.teardown(() => store.close());
const client = storeClient(target);
const list = createRemoteListing(testClients(t));

let buckets = 0;

async function world(t: Test, options: Partial<EventWorldOptions> = {}) {
  const bucket = `uploads-${++buckets}`;
  await client.makeBucket(bucket);
  const settings = { type: 'minio' as const, source: 'files', bucket };
  const credentials = { type: 'minio' as const, ...target };
  // A page of the listing is small, so that there are several.
  const sources: EventWorldOptions['sources'] = {
    minio: (request) => createMinioSource({ pool: base.pool, pageKeys: 3, list })(request),
  };
  const base = await eventWorld(t, { sources, settings, credentials, ...options });
  const put = (key: string, body = key) => client.putObject(bucket, key, body);
  const remove = (key: string) => client.removeObject(bucket, key);
  const snapshot = async () => {
    await base.turn();
    return (await base.deliver()) as { event: string; key: string; size?: number }[];
  };
  return { ...base, bucket, put, remove, snapshot, credentials };
}

/**
 * Each once, in an order that differs from the listing's: `a/b` before `a-b` would be wrong, and `ß` sorts after all of
 * ASCII.
 */
const keys = [
  'a/b',
  'a-b',
  'a b+c',
  'ß',
  'z',
  'A',
  '10%',
  '007',
  '1.50',
  'x&y<z>',
  'dir/sub/file.txt',
  '日本',
  '😀',
  'ﬀ',
];

t.test('an object that is created, changed or deleted is reported once, whatever its key', async (t) => {
  const { put, remove, snapshot, bucket, state } = await world(t);
  for (const key of keys) await put(key);
  const sorted = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const first = await snapshot();
  t.match(
    first,
    sorted.map((key) => ({ event: 'created', bucket, key, size: Buffer.byteLength(key), etag: /^\w{32}$/ })),
  );
  t.same(await snapshot(), []);
  await put('a/b', 'something else');
  await remove('z');
  await remove('ﬀ');
  await put('new');
  t.match(await snapshot(), [
    { event: 'created', key: 'a/b', size: 14 },
    { event: 'created', key: 'new' },
    { event: 'removed', key: 'z' },
    // In UTF-16, which is not the order of listings, it would sort after the emoji.
    { event: 'removed', key: 'ﬀ' },
  ]);
  await put('z');
  t.match(await snapshot(), [{ event: 'created', key: 'z' }], 'an object that is created again is a new one');
  for await (const page of listObjects(store, bucket)) for (const { key } of page) await remove(key);
  t.equal((await snapshot()).length, keys.length);
  t.same(await snapshot(), []);
  t.equal((await state())?.error, null);
});

t.test('nothing is lost while the source is not read, or when the reader is killed before recording', async (t) => {
  let dying = true;
  const { put, turn, snapshot } = await world(t, {
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
    (await snapshot()).map(({ key }) => key),
    ['one', 'two', 'three'],
    'and none twice',
  );
  t.same(await snapshot(), []);
});

t.test('a store that is down or refuses is reported without its keys, and recovers', async (t) => {
  const { put, turn, snapshot, state, bind, credentials, id, pool, bucket } = await world(t);
  await put('one');
  await server.stop();
  await turn();
  t.match(await state(), { failures: 1, error: /Cannot reach the service \(ECONNREFUSED\)/ });
  await server.start();
  t.match(await snapshot(), [{ event: 'created', key: 'one' }]);
  for (const [changed, expected] of [
    [{ ...credentials, secretKey: 'battery-staple' }, /refused the request: .*SignatureDoesNotMatch/],
    [{ ...credentials, accessKey: 'nobody' }, /InvalidAccessKeyId/],
  ] as const) {
    bind(changed);
    await turn();
    const { error } = (await state()) ?? {};
    t.match(error, expected);
    t.notMatch(error, /battery-staple|correct-horse/);
  }
  bind(credentials);
  await client.removeObject(bucket, 'one');
  await client.removeBucket(bucket);
  await turn();
  t.match((await state())?.error, /NoSuchBucket/);
  const { rows } = await pool.query('SELECT 1 FROM event_objects WHERE workload_id = $1', [id]);
  t.equal(rows.length, 1, 'an unreachable bucket does not count as empty');
});
