import { text } from 'node:stream/consumers';
import { NotificationConfig, QueueConfig, type Client } from 'minio';
import t, { type Test } from 'tap';
import type { BoundCredentials } from '../../../runtime/workloads/bindings.ts';
import { listObjects, openObjectStore, type ObjectStore } from '../../../runtime/services/object-store.ts';
import { createMinioSource } from '../../../workers/events/minio.ts';
import { encryptBody } from '../../../workers/bindings/minio-admin.ts';
import { storeClient } from '../../support/store-client.ts';
import { storeServer } from '../../support/store-server.ts';
import { bindingWorld, runningAt } from './binding-world.ts';

// Nothing listens at this address, so the store keeps its messages in its queue.
const events = { url: 'http://127.0.0.1:9/stores/shop-prod/files', token: 'a-token-of-its-own' };
const server = await storeServer(t, 'minio', { events });
const entry = { accessKey: 'svc', secretKey: server.password, region: 'us-east-1' };
const external = { host: server.host, port: server.port, tls: false };
const files = { service: 'files', version: 1 };

type Way = Pick<BoundCredentials, 'accessKey' | 'secretKey' | 'bucket'>;

/** A bucket as its owner with these credentials sees it. */
interface Bucket extends Way {
  store: ObjectStore;
  client: Client;
  bucket: string;
}

async function as({ accessKey = '', secretKey = '', bucket = '' }: Way): Promise<Bucket> {
  const store = await openObjectStore({ ...external, accessKey, secretKey });
  t.teardown(() => store.close());
  return { store, client: storeClient({ ...external, accessKey, secretKey }), bucket, accessKey, secretKey };
}

const put = ({ client, bucket }: Bucket, key: string, body = key) => client.putObject(bucket, key, body);

const get = async ({ client, bucket }: Bucket, key: string) => text(await client.getObject(bucket, key));

const admin = ({ store, secretKey = '' }: Bucket, operation: string, method: string, query = {}) =>
  store.send({ method, path: ['minio', 'admin', 'v3', operation], query, body: encryptBody(secretKey, '{}') });

async function keysOf({ store, bucket }: Bucket): Promise<string[]> {
  const keys = [];
  for await (const page of listObjects(store, bucket)) keys.push(...page.map(({ key }) => key));
  return keys;
}

const root = await as(entry);

const denied = { code: 'AccessDenied' };
const unknownKey = { code: 'InvalidAccessKeyId' };
const noBucket = { code: 'NoSuchBucket' };

async function world(t: Test) {
  const world = await bindingWorld(t);
  await world.addService('files', { type: 'minio' }, { status: runningAt(server), credentials: entry });
  return world;
}

t.test('a binding creates a bucket and a user that can access only the objects in it', async (t) => {
  const { addFunction, pool, work, workLater } = await world(t);
  const [api, other] = [await addFunction('api'), await addFunction('other')];
  await api.bind(files);
  await other.bind(files);
  await work();
  t.same(await api.status('files'), { ...files, phase: 'ready', database: 'api' });
  const first = await api.credentials('files');
  t.match(first, { bucket: 'api', region: 'us-east-1', accessKey: /^api_[0-9a-f]{12}$/, database: undefined });
  const [own, foreign] = [await as(first), await as(await other.credentials('files'))];
  t.equal(new Set([own.secretKey, foreign.secretKey, server.password]).size, 3);
  await put(own, 'a/b c', 'x');
  t.equal(await get(own, 'a/b c'), 'x');
  t.same(await keysOf(own), ['a/b c']);

  await t.rejects(keysOf({ ...foreign, bucket: 'api' }), denied);
  await t.rejects(get({ ...foreign, bucket: 'api' }, 'a/b c'), denied);
  await t.rejects(put({ ...foreign, bucket: 'api' }, 'mine'), denied);
  await t.rejects(own.client.makeBucket('elsewhere'), denied);
  await t.rejects(own.client.removeBucket('api'), denied, 'the bucket itself');
  await t.rejects(own.client.setBucketPolicy('api', '{}'), denied);
  await t.rejects(admin(own, 'info', 'GET'), denied);
  await t.rejects(admin(own, 'add-service-account', 'PUT'), denied, 'it cannot add a second access key for itself');
  await t.rejects(
    admin(own, 'add-user', 'PUT', { accessKey: own.accessKey }),
    denied,
    'it cannot change its secret key',
  );

  const source = await createMinioSource({ pool })({
    workloadId: (await api.object()).metadata.labels?.['platform.svc/id'] as never,
    project: 'shop',
    address: server.host,
    settings: { type: 'minio', source: 'files' },
    credentials: first,
  });
  t.teardown(() => source.close());
  for await (const page of source.read(new AbortController().signal)) t.match(page[0]?.payload, /"key":"a\/b c"/);

  await workLater();
  t.same(await api.credentials('files'), first, 'repeating the work changes nothing');
  await api.bind({ ...files, version: 2 });
  await work();
  const second = await as(await api.credentials('files'));
  t.equal(second.accessKey, own.accessKey);
  await t.rejects(keysOf(own), { code: 'SignatureDoesNotMatch' });
  t.same(await keysOf(second), ['a/b c']);

  await api.bind();
  await work();
  await t.rejects(keysOf(second), unknownKey);
  t.same(await keysOf({ ...root, bucket: 'api' }), ['a/b c'], 'the data remains');
  await api.bind({ ...files, version: 3, dropDatabase: true });
  await work();
  await t.rejects(keysOf({ ...root, bucket: 'api' }), noBucket);
  t.equal((await api.object()).spec.bindings, undefined);
  const policies = await admin(root, 'list-canned-policies', 'GET');
  t.notMatch(policies, own.accessKey ?? '');
});

t.test('a function whose name is not a valid bucket name gets a bucket with another name', async (t) => {
  const { addFunction, work } = await world(t);
  for (const name of ['a', 'minio']) {
    const short = await addFunction(name);
    await short.bind(files);
    await work();
    t.match(await short.status('files'), { phase: 'ready', database: `fn-${name}` });
    await put(await as(await short.credentials('files')), 'x');
  }
});

t.test('a binding can name a bucket that no binding created, but not another function’s', async (t) => {
  const { addFunction, work } = await world(t);
  const [intake, thief] = [await addFunction('intake'), await addFunction('thief')];
  const byHand = { ...root, bucket: 'intake' };
  await root.client.makeBucket('intake');
  await put(byHand, 'kept');
  await intake.bind(files);
  await work();
  const message =
    'The service already has a bucket "intake" that no binding created. To use it, bind with --database intake; otherwise choose another name.';
  t.match(await intake.status('files'), { phase: 'failed', message });
  await intake.bind({ ...files, version: 2, database: 'intake' });
  await work();
  t.same(await keysOf(await as(await intake.credentials('files'))), ['kept']);

  await intake.bind({ ...files, version: 3, database: 'reports' });
  await thief.bind({ ...files, database: 'reports' });
  await work();
  const [one, two] = [await intake.status('files'), await thief.status('files')];
  t.same(new Set([one?.phase, two?.phase]), new Set(['failed', 'ready']));
  t.match([one, two].find((status) => status?.phase === 'failed')?.message, /bucket "reports" belongs to the function/);
});

t.test('the bucket of a function’s event source exists, and the function can use it', async (t) => {
  const { addFunction, work } = await world(t);
  const thumbs = await addFunction('thumbs');
  await thumbs.bind(files);
  await thumbs.listen('files', 'uploads');
  await work();
  const own = await as(await thumbs.credentials('files'));
  t.equal(own.bucket, 'thumbs');
  await put({ ...own, bucket: 'uploads' }, 'cat.png');
  t.same(await keysOf({ ...own, bucket: 'uploads' }), ['cat.png']);
  await thumbs.listen('files', 'letters');
  await work();
  t.same(await keysOf({ ...own, bucket: 'letters' }), []);
  await t.rejects(keysOf({ ...own, bucket: 'uploads' }), denied);
  t.same(await keysOf({ ...root, bucket: 'uploads' }), ['cat.png']);
});

t.test('the store sends events of a bucket as long as a function has it as event source', async (t) => {
  const { addFunction, work, workLater, pool } = await world(t);
  const eventTargets = async (bucket: string) => {
    const { QueueConfiguration: queues } = await root.client.getBucketNotification(bucket);
    return queues.map(({ Id }) => Id);
  };
  const [one, two] = [await addFunction('one'), await addFunction('two')];
  for (const each of [one, two]) {
    await each.bind(files);
    await each.listen('files', 'shared');
  }
  await work();
  t.same(await eventTargets('shared'), ['svc']);
  t.same(await eventTargets('one'), [], 'a bucket that is no function’s event source');
  await one.listen('files', 'one');
  await work();
  t.same(
    [await eventTargets('shared'), await eventTargets('one')],
    [['svc'], ['svc']],
    'the other function still uses it',
  );
  await two.remove();
  await work();
  t.same([await eventTargets('shared'), await eventTargets('one')], [[], ['svc']]);

  const own = 'arn:minio:sqs::SVC:webhook';
  const foreign = new NotificationConfig();
  const queue = new QueueConfig(own);
  queue.setId('mine');
  queue.addEvent('s3:ObjectAccessed:Get');
  foreign.add(queue);
  await root.client.setBucketNotification('one', foreign);
  await workLater();
  t.same(await eventTargets('one'), ['svc'], 'a removed setting is restored');
  await root.store.send({ method: 'DELETE', path: ['one'], headers: { 'x-minio-force-delete': 'true' } });
  await one.bind();
  await work();
  t.equal((await pool.query('SELECT FROM bindings')).rowCount, 0, 'a bucket that was deleted blocks nothing');
});

t.test('a store that cannot send events is bound all the same, and tried again soon', async (t) => {
  const older = await storeServer(t, 'minio');
  const { addFunction, addService, work } = await bindingWorld(t);
  await addService('files', { type: 'minio' }, { status: runningAt(older), credentials: entry });
  const intake = await addFunction('intake');
  await intake.bind(files);
  await intake.listen('files', 'uploads');
  const [outcome] = await work();
  t.match(await intake.status('files'), { phase: 'ready' });
  const minutes = typeof outcome === 'object' ? (outcome.again.getTime() - Date.now()) / 60_000 : undefined;
  t.ok(minutes !== undefined && minutes > 9 && minutes <= 10, `${minutes}`);
});

t.test('an external store uses the registered address and gets a bucket if it allows it', async (t) => {
  const { addFunction, addService, work } = await world(t);
  const register = (name: string, credentials: Way) =>
    addService(name, { type: 'minio', external }, { status: runningAt(server), credentials });
  const guest = await addFunction('guest');
  await guest.bind(files);
  await work();
  const { accessKey = '', secretKey = '' } = await guest.credentials('files');
  await register('open', entry);
  await register('given', { ...entry, bucket: 'given' });
  await register('narrow', { accessKey, secretKey, bucket: 'guest' });
  await register('closed', { accessKey, secretKey });
  await register('wrong', { accessKey, secretKey: 'no secret of it' });
  await register('keyless', {});

  const api = await addFunction('store');
  const all = ['open', 'given', 'narrow', 'closed', 'wrong', 'keyless'].map((service) => ({ service, version: 1 }));
  await api.bind(...all);
  await work();
  const open = await api.credentials('open');
  t.match(open, { ...entry, bucket: 'store' });
  for (const key of ['1', '2', 'a b']) await put(await as(open), key);
  t.same(
    await keysOf({ ...root, bucket: 'given' }),
    [],
    'the bucket is created, and other users of the store can read it',
  );
  t.match(await api.credentials('narrow'), { accessKey, bucket: 'guest' });
  t.match(await api.status('narrow'), { phase: 'ready', database: 'guest' });
  t.match(await api.status('closed'), { phase: 'failed', message: /does not show whether it has a bucket "store"/ });
  t.match(await api.status('wrong'), { phase: 'failed', message: /refused the request: .*SignatureDoesNotMatch/ });
  t.match(await api.status('keyless'), { phase: 'failed', message: /has no keys/ });
  t.notMatch(JSON.stringify(await api.object()), /no secret of it/);

  await api.bind(
    { service: 'open', version: 2, dropDatabase: true },
    { service: 'given', version: 2, dropDatabase: true },
  );
  await work();
  await t.rejects(keysOf({ ...root, bucket: 'store' }), noBucket);
  t.same(
    await keysOf({ ...root, bucket: 'given' }),
    [],
    'no user of its own was created, and repeating changes nothing',
  );
});
