import t, { type Test } from 'tap';
import type { BoundCredentials } from '../../../runtime/host/function-bindings.ts';
import { askStore, listObjects, sendSigned, type Bucket } from '../../../runtime/host/object-store.ts';
import { createMinioSource } from '../../../workers/events/minio.ts';
import { sealed } from '../../../workers/bindings/minio-admin.ts';
import { storeServer } from '../../support/store-server.ts';
import { bindingWorld, runningAt } from './binding-world.ts';

// Nobody listens there: what the store would tell lies in its queue.
const tells = { url: 'http://127.0.0.1:9/stores/shop-prod/files', token: 'a-token-of-its-own' };
const server = await storeServer(t, 'minio', { tells });
const entry = { accessKey: 'svc', secretKey: server.password, region: 'us-east-1' };
const root = { host: server.host, port: server.port, tls: false, ...entry };
const external = { host: server.host, port: server.port, tls: false };
const files = { service: 'files', version: 1 };

type Way = Pick<BoundCredentials, 'accessKey' | 'secretKey' | 'bucket'>;

/** A bucket as whoever these credentials are sees it. */
function as({ accessKey = '', secretKey = '', bucket = '' }: Way): Bucket {
  return { ...external, accessKey, secretKey, bucket };
}

const put = (bucket: Bucket, key: string, body = key) => askStore(bucket, { method: 'PUT', key, body });

async function keysOf(bucket: Bucket): Promise<string[]> {
  const keys = [];
  for await (const page of listObjects(bucket)) keys.push(...page.map(({ key }) => key));
  return keys;
}

const denied = { code: 'AccessDenied' };
const unknownKey = { code: 'InvalidAccessKeyId' };
const noBucket = { code: 'NoSuchBucket' };

async function world(t: Test) {
  const made = await bindingWorld(t);
  await made.addService('files', { type: 'minio' }, { status: runningAt(server), credentials: entry });
  return made;
}

t.test('a binding makes a bucket, and a user who has its objects and nothing else, while it is bound', async (t) => {
  const { addFunction, pool, work, workLater } = await world(t);
  const [api, other] = [await addFunction('api'), await addFunction('other')];
  await api.bind(files);
  await other.bind(files);
  await work();
  t.same(await api.status('files'), { ...files, phase: 'ready', database: 'api' });
  const first = await api.credentials('files');
  t.match(first, { bucket: 'api', region: 'us-east-1', accessKey: /^api_[0-9a-f]{12}$/, database: undefined });
  const [mine, theirs] = [as(first), as(await other.credentials('files'))];
  t.equal(new Set([mine.secretKey, theirs.secretKey, server.password]).size, 3);
  await put(mine, 'a/b c', 'x');
  t.equal(await askStore(mine, { key: 'a/b c' }), 'x');
  t.same(await keysOf(mine), ['a/b c']);

  await t.rejects(keysOf({ ...theirs, bucket: 'api' }), denied);
  await t.rejects(askStore({ ...theirs, bucket: 'api' }, { key: 'a/b c' }), denied);
  await t.rejects(put({ ...theirs, bucket: 'api' }, 'mine'), denied);
  await t.rejects(askStore({ ...mine, bucket: 'elsewhere' }, { method: 'PUT' }), denied);
  await t.rejects(askStore(mine, { method: 'DELETE' }), denied, 'the bucket itself');
  await t.rejects(askStore(mine, { method: 'PUT', query: { policy: '' }, body: '{}' }), denied);
  const admin = (operation: string, method: string, query = {}) =>
    sendSigned(mine, ['minio', 'admin', 'v3', operation], { method, query, body: sealed(mine.secretKey, '{}') });
  await t.rejects(admin('info', 'GET'), denied);
  await t.rejects(admin('add-service-account', 'PUT'), denied, 'no other key beside its own');
  await t.rejects(admin('add-user', 'PUT', { accessKey: mine.accessKey }), denied, 'nor another secret for it');

  const source = await createMinioSource({ pool })({
    ...{ workloadId: (await api.object()).metadata.labels?.['platform.svc/id'] as never, address: server.host },
    ...{ settings: { type: 'minio', source: 'files' }, credentials: first },
  });
  t.teardown(() => source.close());
  for await (const page of source.read(new AbortController().signal)) t.match(page[0]?.payload, /"key":"a\/b c"/);

  await workLater();
  t.same(await api.credentials('files'), first, 'work that is repeated changes nothing');
  await api.bind({ ...files, version: 2 });
  await work();
  const second = as(await api.credentials('files'));
  t.equal(second.accessKey, mine.accessKey);
  await t.rejects(keysOf(mine), { code: 'SignatureDoesNotMatch' });
  t.same(await keysOf(second), ['a/b c']);

  await api.bind();
  await work();
  await t.rejects(keysOf(second), unknownKey);
  t.same(await keysOf({ ...root, bucket: 'api' }), ['a/b c'], 'the data stays');
  await api.bind({ ...files, version: 3, dropDatabase: true });
  await work();
  await t.rejects(keysOf({ ...root, bucket: 'api' }), noBucket);
  t.equal((await api.object()).spec.bindings, undefined);
  const policies = await sendSigned(root, ['minio', 'admin', 'v3', 'list-canned-policies'], {});
  t.notMatch(policies, mine.accessKey);
});

t.test('a function whose name no bucket can have gets one of another name', async (t) => {
  const { addFunction, work } = await world(t);
  for (const name of ['a', 'minio']) {
    const short = await addFunction(name);
    await short.bind(files);
    await work();
    t.match(await short.status('files'), { phase: 'ready', database: `fn-${name}` });
    await put(as(await short.credentials('files')), 'x');
  }
});

t.test('a bucket that was made by hand is used when it is named, and another function’s is not', async (t) => {
  const { addFunction, work } = await world(t);
  const [intake, thief] = [await addFunction('intake'), await addFunction('thief')];
  const byHand = { ...root, bucket: 'intake' };
  await askStore(byHand, { method: 'PUT' });
  await put(byHand, 'kept');
  await intake.bind(files);
  await work();
  const message =
    'The service has a bucket "intake" that no binding made; bind with --database intake to use it, or with another one.';
  t.match(await intake.status('files'), { phase: 'failed', message });
  await intake.bind({ ...files, version: 2, database: 'intake' });
  await work();
  t.same(await keysOf(as(await intake.credentials('files'))), ['kept']);

  await intake.bind({ ...files, version: 3, database: 'reports' });
  await thief.bind({ ...files, database: 'reports' });
  await work();
  const [one, two] = [await intake.status('files'), await thief.status('files')];
  t.same(new Set([one?.phase, two?.phase]), new Set(['failed', 'ready']));
  t.match(
    [one, two].find((status) => status?.phase === 'failed')?.message,
    /bucket "reports" was made for the function/,
  );
});

t.test('the bucket of a function’s events is there, and open to it', async (t) => {
  const { addFunction, work } = await world(t);
  const thumbs = await addFunction('thumbs');
  await thumbs.bind(files);
  await thumbs.listen('files', 'uploads');
  await work();
  const mine = as(await thumbs.credentials('files'));
  t.equal(mine.bucket, 'thumbs');
  await put({ ...mine, bucket: 'uploads' }, 'cat.png');
  t.same(await keysOf({ ...mine, bucket: 'uploads' }), ['cat.png']);
  await thumbs.listen('files', 'letters');
  await work();
  t.same(await keysOf({ ...mine, bucket: 'letters' }), []);
  await t.rejects(keysOf({ ...mine, bucket: 'uploads' }), denied);
  t.same(await keysOf({ ...root, bucket: 'uploads' }), ['cat.png']);
});

t.test('the store tells of a bucket for as long as a function’s events come from it', async (t) => {
  const { addFunction, work, workLater, pool } = await world(t);
  const told = async (bucket: string) => {
    const xml = await askStore({ ...root, bucket }, { query: { notification: '' } });
    return [...xml.matchAll(/<Id>(.*?)<\/Id>/g)].map(([, id]) => id);
  };
  const [one, two] = [await addFunction('one'), await addFunction('two')];
  for (const each of [one, two]) {
    await each.bind(files);
    await each.listen('files', 'shared');
  }
  await work();
  t.same(await told('shared'), ['svc']);
  t.same(await told('one'), [], 'a bucket that nothing is called by');
  await one.listen('files', 'one');
  await work();
  t.same([await told('shared'), await told('one')], [['svc'], ['svc']], 'the other function has it still');
  await two.remove();
  await work();
  t.same([await told('shared'), await told('one')], [[], ['svc']]);

  const own = 'arn:minio:sqs::SVC:webhook';
  const foreign = `<QueueConfiguration><Id>mine</Id><Queue>${own}</Queue><Event>s3:ObjectAccessed:Get</Event></QueueConfiguration>`;
  const body = `<NotificationConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${foreign}</NotificationConfiguration>`;
  await askStore({ ...root, bucket: 'one' }, { method: 'PUT', query: { notification: '' }, body });
  await workLater();
  t.same(await told('one'), ['svc'], 'what somebody undid is mended');
  await askStore({ ...root, bucket: 'one' }, { method: 'DELETE', headers: { 'x-minio-force-delete': 'true' } });
  await one.bind();
  await work();
  t.equal((await pool.query('SELECT FROM function_bindings')).rowCount, 0, 'a bucket that is gone is in nobody’s way');
});

t.test('a store that cannot tell is bound all the same, and asked again soon', async (t) => {
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

t.test('an external store is entered as it was registered; its bucket is made where that is allowed', async (t) => {
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
  for (const key of ['1', '2', 'a b']) await put(as(open), key);
  t.same(await keysOf({ ...root, bucket: 'given' }), [], 'made, and everybody’s');
  t.match(await api.credentials('narrow'), { accessKey, bucket: 'guest' });
  t.match(await api.status('narrow'), { phase: 'ready', database: 'guest' });
  t.match(await api.status('closed'), { phase: 'failed', message: /does not say whether it has a bucket "store"/ });
  t.match(await api.status('wrong'), { phase: 'failed', message: /refuses: .*SignatureDoesNotMatch/ });
  t.match(await api.status('keyless'), { phase: 'failed', message: /has no keys/ });
  t.notMatch(JSON.stringify(await api.object()), /no secret of it/);

  await api.bind(
    { service: 'open', version: 2, dropDatabase: true },
    { service: 'given', version: 2, dropDatabase: true },
  );
  await work();
  await t.rejects(keysOf({ ...root, bucket: 'store' }), noBucket);
  t.same(await keysOf({ ...root, bucket: 'given' }), [], 'nobody’s own, and so it stays');
});
