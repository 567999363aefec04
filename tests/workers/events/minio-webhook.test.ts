import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { Registry } from 'prom-client';
import { createEventDelivery } from '../../../functions/event-delivery/handler.ts';
import { createBodyMemory } from '../../../runtime/http/body-memory.ts';
import { createDeliveryMetrics } from '../../../functions/event-delivery/metrics.ts';
import { storeEventsPath } from '../../../runtime/contracts/event-exchange.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import {
  eventsTokenField,
  eventsTokenName,
  type ServiceResource,
} from '../../../runtime/contracts/resources/service.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { openObjectStore } from '../../../runtime/services/object-store.ts';
import { ownedSecret } from '../../../runtime/workloads/owned-secret.ts';
import { createNotifyWaiter } from '../../../runtime/db/notify-waiter.ts';
import { projectEventSource } from '../../../runtime/records/function-events.ts';
import { listDead } from '../../../runtime/records/dead-letters.ts';
import { recordFailed } from '../../../runtime/records/event-deliveries.ts';
import { storeNotices } from '../../../runtime/records/bucket-notices.ts';
import { setBucketEvents } from '../../../workers/bindings/bucket-events.ts';
import { createMinioSource } from '../../../workers/events/minio.ts';
import { freePort } from '../../support/servers.ts';
import { silentLog } from '../../support/log.ts';
import { storeClient } from '../../support/store-client.ts';
import { storeServer } from '../../support/store-server.ts';
import { eventWorld, type EventWorldOptions } from './event-world.ts';

const token = 'a-token-of-its-own';
const path = storeEventsPath('shop-prod', 'files');
const port = await freePort();
const address = `http://127.0.0.1:${port}`;
const server = await storeServer(t, 'minio', { events: { url: `${address}${path}`, token } });
const target = { host: server.host, port: server.port, tls: false, accessKey: 'svc', secretKey: server.password };
const store = await openObjectStore(target);
t.teardown(() => store.close());
const client = storeClient(target);

/** The store retries every 3 s. */
const heardMs = 60_000;

let buckets = 0;

/** A function with a bucket as event source, whose store calls the platform's webhook once `listen` starts it. */
async function world(t: Test, options: Partial<EventWorldOptions> = {}) {
  const bucket = `notified-${++buckets}`;
  await client.makeBucket(bucket);
  t.equal(await setBucketEvents(store, bucket, true), true);
  const settings = { type: 'minio' as const, source: 'files', bucket };
  const sources: EventWorldOptions['sources'] = { minio: (request) => createMinioSource({ pool: base.pool })(request) };
  const credentials = { type: 'minio' as const, ...target };
  const base = await eventWorld(t, { sources, settings, credentials, own: true, ...options });
  const { kube, pool, id } = base;
  const service = await kube.get<ServiceResource>(kinds.ServiceResource, 'files', 'shop-prod');
  if (!service) throw new Error('a service');
  const data = { [eventsTokenField]: Buffer.from(token).toString('base64') };
  kube.seed(ownedSecret(service, eventsTokenName('files'), data));
  const waits = createNotifyWaiter({ clock: systemClock });
  const metrics = createDeliveryMetrics(new Registry());
  const deliver = createEventDelivery({
    kube,
    pool,
    clock: systemClock,
    waits,
    log: silentLog,
    metrics,
    bodies: createBodyMemory(),
  });
  const messages = { count: 0, tell: () => {} };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    await deliver(request, response);
    if (response.statusCode === 200) messages.count++;
    messages.tell();
  };
  const listen = async () => {
    const http = createServer((request, response) => void answer(request, response)).listen(port, '127.0.0.1');
    await once(http, 'listening');
    const close = async () => {
      if (!http.listening) return;
      http.close();
      http.closeAllConnections();
      await once(http, 'close');
    };
    t.teardown(close);
    return close;
  };
  /** Resolves once the platform has accepted `count` messages in all. @throws Error when they do not arrive */
  const waitForEvents = async (count: number) => {
    const late = AbortSignal.timeout(heardMs);
    while (messages.count < count) {
      await new Promise<void>((resolve, reject) => {
        messages.tell = resolve;
        late.addEventListener('abort', () => reject(new Error(`the store told ${messages.count} of ${count}`)));
      });
    }
  };
  const put = (key: string, body = key) => client.putObject(bucket, key, body);
  const remove = (key: string) => client.removeObject(bucket, key);
  const snapshot = async () => {
    await base.turn();
    const events = (await base.deliver()) as { event: string; key: string }[];
    return events.map(({ event, key }) => `${event} ${key}`);
  };
  const noticesLeft = async () =>
    (await pool.query('SELECT FROM object_notices WHERE workload_id = $1', [id])).rowCount ?? 0;
  return { ...base, bucket, settings, listen, waitForEvents, put, remove, snapshot, noticesLeft };
}

t.test('objects created or deleted between two listings are reported once', async (t) => {
  const { listen, waitForEvents, put, remove, snapshot, noticesLeft } = await world(t);
  await listen();
  await put('here to stay');
  await put('a b/ü+%', 'x');
  await remove('a b/ü+%');
  await waitForEvents(3);
  t.same(await snapshot(), ['created here to stay', 'created a b/ü+%', 'removed a b/ü+%']);
  t.equal(await noticesLeft(), 0);
  t.same(await snapshot(), []);
  await put('twice', '1');
  await put('twice', '2');
  await waitForEvents(5);
  t.same(await snapshot(), ['created twice', 'created twice'], 'every upload of a key');
  await remove('nothing');
  await remove('twice');
  await waitForEvents(6);
  t.same(await snapshot(), ['removed twice']);
  t.same(await snapshot(), []);
});

t.test('the store queues events while the platform is down, and across its own restart', async (t) => {
  const { listen, waitForEvents, put, remove, snapshot } = await world(t);
  await put('gone before anyone heard');
  await remove('gone before anyone heard');
  await server.stop();
  await server.start();
  await put('after its restart');
  const close = await listen();
  await waitForEvents(3);
  await close();
  // MinIO sends what it queued in no particular order.
  t.same((await snapshot()).toSorted(), [
    'created after its restart',
    'created gone before anyone heard',
    'removed gone before anyone heard',
  ]);
  t.same(await snapshot(), []);
});

t.test(
  'a store that is killed right after an answer has lost nothing, nor has one that has just started',
  async (t) => {
    const { listen, waitForEvents, put, remove, snapshot } = await world(t);
    const keys = Array.from({ length: 200 }, (_, n) => `k${n}`);
    await Promise.all(keys.map((key) => put(key)));
    await Promise.all(keys.map((key) => remove(key)));
    await server.stop();
    await server.start();
    await put('first');
    await remove('first');
    await listen();
    await waitForEvents(402);
    const events = [...keys, 'first'].flatMap((key) => [`created ${key}`, `removed ${key}`]);
    t.same((await snapshot()).toSorted(), events.toSorted());
  },
);

t.test('the store’s late message does not repeat what a listing has reported', async (t) => {
  const { listen, waitForEvents, put, remove, snapshot } = await world(t);
  await put('seen');
  await put('changed', '1');
  await put('changed', '2');
  await put('taken away');
  t.same(await snapshot(), ['created changed', 'created seen', 'created taken away']);
  await remove('taken away');
  await put('taken away', 'and put back');
  t.same(await snapshot(), ['created taken away']);
  await listen();
  await waitForEvents(6);
  // An object that was overwritten before the listing is new to the function; one that exists again is not deleted.
  t.same(await snapshot(), ['created changed', 'created taken away']);
  t.same(await snapshot(), [], 'and the listing agrees with the recorded state');
});

t.test('a reader that is killed at any step, and a source that is down, lose and duplicate nothing', async (t) => {
  let dying = true;
  const base = await world(t, {
    failpoint: () => {
      if (dying) throw new Error('killed');
    },
  });
  const { listen, waitForEvents, put, remove, snapshot, turn, count, state } = base;
  await listen();
  await put('one');
  await remove('one');
  await waitForEvents(2);
  await t.rejects(turn(), /killed/);
  dying = false;
  await put('two');
  await waitForEvents(3);
  await server.stop();
  await turn();
  t.match(await state(), { error: /Cannot reach/ });
  t.equal(await count('pending'), 3, 'earlier events are delivered while the store is down');
  await server.start();
  t.same(await snapshot(), ['created one', 'removed one', 'created two']);
  t.same(await snapshot(), []);
});

t.test('without room for more events, messages wait', async (t) => {
  const { pool, id, snapshot, turn, count, deliver, bucket, noticesLeft } = await world(t);
  const place = { namespace: 'shop-prod', service: 'files' };
  const at = new Date().toISOString();
  const many = (event: 'created' | 'removed', from: number, to: number) =>
    Array.from({ length: to - from }, (_, n) => ({
      event,
      bucket,
      key: `k${from + n}`,
      etag: event === 'created' ? 'e' : '',
      modified: at,
      size: 1,
    }));
  // More than a page of objects, all deleted since.
  await storeNotices(pool, place, [...many('created', 0, 700), ...many('removed', 0, 700)]);
  await turn();
  t.equal(await count('pending'), 1_000);
  t.equal(await noticesLeft(), 400);
  t.same((await deliver(600)).length, 600);
  await turn();
  t.equal(await count('pending'), 800, 'the last ones were removed');
  t.same((await snapshot()).length, 800);
  t.same(await snapshot(), []);
  await storeNotices(pool, place, many('created', 0, 10_000));
  await storeNotices(pool, place, many('created', 0, 1));
  t.equal(await noticesLeft(), 10_000, 'the listing finds those beyond the limit');
  await projectEventSource(pool, id, undefined);
  t.equal(await noticesLeft(), 0);
});

t.test('an event whose handler fails is delivered again or becomes a dead letter', async (t) => {
  const { pool, id, listen, waitForEvents, put, remove, turn, lease } = await world(t);
  await listen();
  await put('one');
  await remove('one');
  await waitForEvents(2);
  await turn();
  const [created, removed] = await lease();
  if (!created || !removed) throw new Error('two events');
  await recordFailed(pool, id, [
    { ...created, status: 500, message: '' },
    { ...removed, status: 400, message: 'no' },
  ]);
  t.match(await listDead(pool, id, { limit: 10, before: undefined }), [{ payload: /"removed"/, lastError: /400: no/ }]);
  await pool.query(`UPDATE function_events SET due_at = now() WHERE state = 'pending'`);
  t.match(await lease(), [{ payload: /"created"/, attempt: 2 }]);
});

t.test('only the store itself is accepted, and an unusable message blocks nothing', async (t) => {
  const { bucket, listen, noticesLeft, snapshot } = await world(t);
  await listen();
  const record = (eventName: string, object: object, name = bucket) => ({
    eventName,
    s3: { bucket: { name }, object: { key: 'a', sequencer: '18EA6FCEC8D506D8', ...object } },
  });
  const base = record('s3:ObjectCreated:Put', { eTag: 'e', size: 1 });
  const ask = async (body: unknown, { at = path, bearer = `Bearer ${token}`, ...init } = {}) => {
    const headers = { authorization: bearer, 'content-type': 'application/json' };
    const text = typeof body === 'string' ? body : JSON.stringify({ Records: body });
    const answer = await fetch(`${address}${at}`, { method: 'POST', headers, body: text, ...init });
    return [answer.status, (await answer.text()).replace(/.*"code":"(\w+)".*/, '$1')];
  };
  const refused = [401, 'unauthenticated'];
  for (const bearer of [
    '',
    'Bearer ',
    'Bearer wrong',
    `Basic ${token}`,
    `Bearer ${token}x`,
    `Bearer ${token.slice(1)}`,
  ]) {
    t.same(await ask([base], { bearer }), refused);
  }
  for (const at of [storeEventsPath('shop-prod', 'other'), storeEventsPath('shop-dev', 'files')]) {
    t.same(await ask([base], { at }), refused);
  }
  t.equal((await ask([base], { at: `${path}/x` }))[0], 404);
  t.equal((await fetch(`${address}${path}`)).status, 405);
  t.equal(await noticesLeft(), 0);

  const acceptedResponse = [200, '{}'];
  const useless = [
    '',
    '{',
    '[]',
    '{"Records":[{}]}',
    '"x"',
    JSON.stringify({ Records: [base], more: 'x'.repeat(1024 * 1024) }),
  ];
  for (const body of useless) t.same(await ask(body), acceptedResponse);
  t.same(
    await ask([
      record('s3:ObjectCreated:Put', { eTag: 'e' }, 'another-bucket'),
      record('s3:ObjectCreated:Put', {}),
      record('s3:ObjectAccessed:Get', { eTag: 'e' }),
      record('s3:ObjectCreated:Put', { eTag: 'e', key: '%ff' }),
      record('s3:ObjectCreated:Put', { eTag: 'e', sequencer: 'soon' }),
      record('s3:ObjectRemoved:Delete', { versionId: 'one of several' }),
    ]),
    acceptedResponse,
  );
  t.equal(await noticesLeft(), 0);
  t.same(await ask([base]), acceptedResponse);
  t.equal(await noticesLeft(), 1);
  // The listing decides: the object never existed.
  t.same(await snapshot(), ['created a', 'removed a']);
});
