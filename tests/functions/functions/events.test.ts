import t, { type Test } from 'tap';
import { createFunctionRoutes } from '../../../functions/functions/handler.ts';
import { createServiceRoutes } from '../../../functions/services/handler.ts';
import type { FunctionResource } from '../../../runtime/contracts/resources/function.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { ServiceType } from '../../../runtime/contracts/resources/service.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { leaseEvents, recordDelivered, recordFailed } from '../../../runtime/records/event-deliveries.ts';
import { reserveDatabase } from '../../../runtime/records/bindings.ts';
import {
  beginPoll,
  findEventSource,
  projectEventSource,
  recordPass,
  addEvents,
} from '../../../runtime/records/function-events.ts';
import { workloadIdOf } from '../../../runtime/workloads/objects.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { allProjects, seedShop } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';

const base = '/api/v1/projects/shop';
const functions = `${base}/functions`;
const namespace = 'shop-prod';
const query = 'SELECT * FROM orders WHERE NOT done ORDER BY id';
const markDone = 'UPDATE orders SET done = true WHERE id = {{id}}';

async function world(t: Test) {
  const { pool } = await testDatabase(t);
  const kube = fakeKube({ checkNamespaces: true });
  seedShop(kube);
  const dependencies = { clock: fakeClock(), baseUrl: 'http://console.test', visibleProjects: allProjects(kube) };
  const api = await testApi(t, {
    routes: [...createFunctionRoutes({ kube, pool, ...dependencies }), ...createServiceRoutes({ kube })],
  });
  const services: Record<string, ServiceType> = { orders: 'postgres', stock: 'mysql', cache: 'redis', files: 'minio' };
  for (const [name, type] of Object.entries(services)) {
    await api.call('POST', `${base}/services`, { body: { name, type, external: { host: `${name}.example.com` } } });
  }
  const object = async (name = 'intake') => {
    const stored = await kube.get<FunctionResource>(kinds.Function, name, namespace);
    if (!stored) throw new Error('there is no such function');
    return stored;
  };
  const create = (body: object, name = 'intake') =>
    api.call('POST', functions, { body: { name, runtime: 'node', code: 'x', ...body } });
  const change = (body: object) => api.call('PATCH', `${functions}/intake`, { body });
  /** Writes the function's records, as its controller does. @returns its id */
  const project = async (name = 'intake') => {
    const stored = await object(name);
    const id = workloadIdOf(stored);
    const place = { environmentId: newId(), project: 'shop', environment: 'prod', namespace, name };
    await projectWorkload(pool, { id, ...place, kind: 'Function', gated: false });
    await projectEventSource(pool, id, stored.spec.events);
    return id;
  };
  return { pool, kube, api, object, create, change, project };
}

t.test('each kind of data source: the function stores it, is bound to it, and has no public URL', async (t) => {
  const { kube, api, object, create } = await world(t);
  for (const [trigger, events] of [
    ['postgres', { source: 'orders', query, markDone }],
    ['mysql', { source: 'stock', query, concurrency: 4 }],
    ['redis', { source: 'cache', list: 'jobs' }],
    ['minio', { source: 'files', bucket: 'uploads' }],
  ] as const) {
    const answer = await create(
      { trigger, events, port: 9000, maxReplicas: 2, requestTimeoutSeconds: 5 },
      `on-${trigger}`,
    );
    t.match(answer, { status: 201, body: { trigger, events: { type: trigger, concurrency: Number, ...events } } });
    t.notHas(answer.body, 'url');
    const { spec } = await object(`on-${trigger}`);
    t.match(await api.call('POST', `${functions}/on-${trigger}/test-runs`), {
      status: 422,
      body: { message: new RegExp(`svc function events on-${trigger}`) },
    });
    t.match(spec, { trigger, port: 9000, maxReplicas: 2, bindings: [{ service: events.source, version: Number }] });
    t.same(spec.events, { type: trigger, ...events });
  }
  t.same(kube.all(kinds.HostName), []);
  t.match(await create({ events: { type: 'redis', source: 'cache', list: 'a' } }, 'short'), {
    status: 201,
    body: { trigger: 'redis' },
  });
  const both = await create({ trigger: 'http', events: { type: 'redis', source: 'cache', list: 'a' } });
  t.match(both.body, { trigger: 'http', events: { type: 'redis' }, url: 'http://fn-intake--c1.apps.test' });
});

t.test('an invalid data source is refused, naming the right fields, and nothing is created', async (t) => {
  const { kube, create } = await world(t);
  const postgres = { source: 'orders', query };
  for (const [body, status, field, message] of [
    [{ trigger: 'postgres' }, 422, 'events.source', /--source <service>/],
    [{ trigger: 'postgres', events: { source: 'orders' } }, 422, 'events.query', /--query/],
    [{ trigger: 'mysql', events: { source: 'stock' } }, 422, 'events.query', /--query/],
    [{ trigger: 'redis', events: { source: 'cache' } }, 422, 'events.list', /--list/],
    [{ trigger: 'minio', events: { source: 'files' } }, 422, 'events.bucket', /--bucket/],
    [{ trigger: 'minio', events: { source: 'files', bucket: 'UP_loads' } }, 422, 'events.bucket', /lower-case/],
    [{ trigger: 'minio', events: { source: 'files', bucket: 'a..b' } }, 422, 'events.bucket', /single dots/],
    [{ trigger: 'redis', events: { source: 'cache', list: 'a', query } }, 422, 'events.query', /postgres or mysql/],
    [{ trigger: 'postgres', events: { ...postgres, list: 'a' } }, 422, 'events.list', /--trigger redis/],
    [
      { trigger: 'postgres', events: { ...postgres, markDone: 'DELETE FROM orders' } },
      422,
      'events.markDone',
      /{{id}}/,
    ],
    [{ trigger: 'mysql', events: { type: 'postgres', ...postgres } }, 422, 'events.type', /one event source/],
    [{ trigger: 'http', events: postgres }, 422, 'events.type', /--trigger postgres/],
    [
      { trigger: 'cron', schedule: '* * * * *', events: { type: 'postgres', ...postgres } },
      422,
      'events',
      /cannot have an event source/,
    ],
    [{ trigger: 'postgres', events: postgres, hostname: 'a.test' }, 422, 'hostname', /trigger http/],
    [{ trigger: 'postgres', events: postgres, concurrency: 3 }, 422, 'concurrency', /trigger http/],
    [{ trigger: 'postgres', events: postgres, schedule: '* * * * *' }, 422, 'schedule', /trigger cron/],
    [{ trigger: 'mysql', events: postgres }, 422, 'events.source', /"orders" has the type postgres/],
    [{ trigger: 'postgres', events: { source: 'none', query } }, 404, undefined, /no service "none"/],
    [{ trigger: 'postgres', events: { ...postgres, database: 'a b' } }, 422, 'database', /no name of a database/],
    [{ trigger: 'redis', events: { source: 'cache', list: 'a', database: 'b' } }, 422, 'database', /no databases/],
    [{ trigger: 'postgres', events: { ...postgres, extra: 1 } }, 400, undefined, /extra/],
    [{ trigger: 'kafka' }, 400, undefined, /trigger/],
  ] as const) {
    const answer = await create(body);
    t.equal(answer.status, status, JSON.stringify(body));
    t.match((answer.body as { message: string }).message, message);
    t.equal(answer.body.details?.field, field, JSON.stringify(body));
  }
  t.same(kube.all(kinds.Function), []);
});

t.test('the source is bound once, to the named database; names of other bindings are refused', async (t) => {
  const { pool, kube, api, object, create, change, project } = await world(t);
  const events = { source: 'orders', query };
  await create({ trigger: 'postgres', events: { ...events, database: 'shop' } });
  const bindings = async () => (await object()).spec.bindings;
  const first = await bindings();
  t.match(first, [{ service: 'orders', database: 'shop' }]);
  t.notHas((await object()).spec.events, 'database');
  t.match(await change({ events: { query: 'SELECT 1 AS id' } }), { status: 200 });
  t.same(await bindings(), first, 'a change creates no new password');
  t.match(await change({ events: { database: 'other' } }), {
    status: 422,
    body: { message: /svc function bind intake/ },
  });
  t.match(await change({ trigger: 'mysql', events: { source: 'stock', query } }), {
    status: 422,
    body: { message: /"orders" and "stock" would both set DB_HOST/ },
  });
  t.match(await api.call('DELETE', `${functions}/intake/bindings/orders`), { status: 409, body: { code: 'in_use' } });
  t.match(await api.call('DELETE', `${base}/services/orders`), {
    status: 409,
    body: {
      code: 'in_use',
      details: { functions: ['intake'] },
      message: /function intake\. Unbind it first .* event source of the function intake: change their trigger/,
    },
  });
  const service = await kube.get(kinds.ServiceResource, 'orders', namespace);
  await reserveDatabase(pool, service?.metadata.labels?.['platform.svc/id'] ?? '', 'theirs', await project());
  t.match(await create({ trigger: 'postgres', events: { ...events, database: 'theirs' } }, 'other'), {
    status: 409,
    body: { code: 'in_use', message: /the function "intake"/ },
  });
});

t.test("an update changes the given fields; a new trigger replaces the previous one's settings", async (t) => {
  const { object, create, change } = await world(t);
  const spec = async () => (await object()).spec;
  await create({ trigger: 'http', hostname: 'intake.shop.test', concurrency: 7 });
  t.match(await change({ events: { type: 'postgres', source: 'orders', query, markDone } }), { status: 200 });
  t.match(await spec(), { trigger: 'http', hostname: 'intake.shop.test', events: { type: 'postgres' } }, 'both');
  await change({ events: { markDone: null, concurrency: 2 } });
  t.same((await spec()).events, { type: 'postgres', source: 'orders', query, concurrency: 2 });
  await change({ trigger: 'postgres' });
  t.match(await spec(), { trigger: 'postgres', events: { source: 'orders', query, concurrency: 2 } });
  t.notHas(await spec(), 'hostname');
  t.notHas(await spec(), 'concurrency');
  t.match(await change({ events: { type: 'redis', source: 'cache' } }), { status: 422, body: { message: /--list/ } });
  await change({ events: { type: 'redis', source: 'cache', list: 'jobs' } });
  t.match(await spec(), { trigger: 'redis', bindings: [{ service: 'cache' }, { service: 'orders' }] });
  t.same((await spec()).events, { type: 'redis', source: 'cache', list: 'jobs' });
  t.match(await change({ trigger: 'http', events: {} }), { status: 200, body: { trigger: 'http' } });
  t.match((await spec()).events, { type: 'redis', list: 'jobs' });
  await change({ trigger: 'http' });
  t.equal((await spec()).events, undefined);
  t.match(await change({ events: { query } }), { status: 422, body: { details: { field: 'events.type' } } });
  await change({ trigger: 'cron', schedule: '* * * * *' });
  t.match(await change({ events: { type: 'redis', source: 'cache', list: 'jobs' } }), { status: 422 });
});

t.test('the state of events: counts, an error of the source, and each undelivered one, in pages', async (t) => {
  const { pool, api, create, project } = await world(t);
  await create({ trigger: 'postgres', events: { source: 'orders', query, markDone } });
  const show = async () => (await api.call('GET', `${functions}/intake`)).body.events;
  t.match(await show(), { counts: { waiting: 0 }, more: false }, 'before its controller has seen it');
  const id = await project();
  const source = await findEventSource(pool, id);
  const poll = source && (await beginPoll(pool, source));
  if (!poll) throw new Error('a source');
  const stored = ['a', 'b', 'c'].map((name) => ({ id: name, payload: JSON.stringify({ name }) }));
  await addEvents(pool, poll, stored, poll.room);
  await recordPass(pool, id, 'The database is down.');
  const [first] = (await leaseEvents(pool, id, { max: 1, leaseMs: 60_000 })).events;
  if (!first) throw new Error('an event');
  t.match(await show(), { counts: { waiting: 2, delivering: 1, dead: 0 }, error: 'The database is down.' });
  t.notHas((await api.call('GET', functions)).body.items[0].events, 'counts', 'lists do not query the database');
  const events = (search = '') => api.call('GET', `${functions}/intake/events${search}`);
  const page = await events('?limit=2');
  t.match(page.body.items, [
    { event: 'a', state: 'delivering' },
    { event: 'b', state: 'waiting' },
  ]);
  t.notMatch(page.text, 'name":"a', 'without content');
  t.match((await events(`?cursor=${page.body.nextCursor}`)).body, { items: [{ event: 'c' }] });
  t.equal((await events('?cursor=x')).status, 400);

  await recordFailed(pool, id, [{ ...first, status: 422, message: 'no such product' }]);
  const dead = () => api.call('GET', `${functions}/intake/dead-letters`);
  const [letter] = (await dead()).body.items;
  t.match(letter, {
    event: 'a',
    failures: 1,
    lastError: /422.*no such product/,
    payload: '{"name":"a"}',
    deadAt: String,
  });
  t.match(await show(), { counts: { waiting: 2, delivering: 0, dead: 1 } });
  const letters = (action: string, body: object) =>
    api.call('POST', `${functions}/intake/dead-letters/${action}`, { body });
  t.equal((await letters('redrive', {})).status, 400);
  t.equal((await letters('redrive', { ids: ['x'] })).status, 400);
  t.match(await letters('redrive', { ids: ['999'] }), { status: 200, body: { count: 0 } });
  t.match(await letters('redrive', { ids: [letter.id] }), { status: 200, body: { count: 1 } });
  t.match(await show(), { counts: { waiting: 3, dead: 0 } });
  for (const event of (await leaseEvents(pool, id, { max: 3, leaseMs: 60_000 })).events) {
    await recordFailed(pool, id, [{ ...event, status: 400, message: '' }]);
  }
  t.match(await letters('purge', { ids: [letter.id] }), { body: { count: 1 } });
  t.match(await letters('purge', { all: true }), { body: { count: 2 } });
  t.same((await dead()).body.items, []);
});

t.test('undelivered events are lost with their source only on request, except rows', async (t) => {
  const { pool, api, object, create, change, project } = await world(t);
  const find = async (id: string, count: number) => {
    const source = await findEventSource(pool, id);
    const poll = source && (await beginPoll(pool, source));
    if (!poll) throw new Error('a source');
    const stored = Array.from({ length: count }, (_, n) => ({ id: `${source.origin} ${n}`, payload: '1' }));
    await addEvents(pool, poll, stored, poll.room);
  };
  await create({ trigger: 'http', events: { type: 'redis', source: 'cache', list: 'jobs' } });
  const id = await project();
  await find(id, 3);
  const [refused, delivered] = (await leaseEvents(pool, id, { max: 2, leaseMs: 60_000 })).events;
  if (!refused || !delivered) throw new Error('two events');
  await recordFailed(pool, id, [{ ...refused, status: 400, message: '' }]);
  await recordDelivered(pool, id, [delivered]);
  const message = /has 1 undelivered event \(.*\) and 1 dead letter \(.*\) that .* --discard-events/;
  const conflict = {
    status: 409,
    body: { code: 'undelivered_events', message: message, details: { waiting: 1, dead: 1 } },
  };
  t.match(await change({ trigger: 'http' }), conflict);
  t.match(await change({ trigger: 'cron', schedule: '* * * * *' }), conflict);
  t.match(await api.call('DELETE', `${functions}/intake`), conflict);
  t.match((await object()).spec.events, { list: 'jobs' });
  t.match(await change({ events: { list: 'others' } }), { status: 200 }, 'they are still delivered');

  await change({ events: { type: 'postgres', source: 'orders', query } });
  await project();
  t.match(await change({ trigger: 'http' }), conflict, 'whatever its source is now');
  const discard = (method: string, body?: object) =>
    api.call(method, `${functions}/intake?discardEvents=true`, body ? { body } : {});
  t.match(await discard('PATCH', { trigger: 'http' }), { status: 200 });
  await project();
  t.match(await change({ events: { type: 'postgres', source: 'orders', query } }), { status: 200 });
  await find(await project(), 2);
  t.match(await change({ trigger: 'http' }), { status: 200 }, 'rows stay in their database');

  await project();
  await change({ events: { type: 'minio', source: 'files', bucket: 'uploads' } });
  await find(await project(), 1);
  t.match(await api.call('DELETE', `${functions}/intake`), { status: 409, body: { details: { waiting: 1, dead: 0 } } });
  t.match(await discard('DELETE'), { status: 202 });
  t.match(await api.call('DELETE', `${functions}/intake`), { status: 202 }, 'the choice was made');
});

t.test('a function without a data source has no events, and the answer says so', async (t) => {
  const { api, create } = await world(t);
  await create({});
  for (const path of ['events', 'dead-letters']) {
    t.match(await api.call('GET', `${functions}/intake/${path}`), { status: 422, body: { message: /--source/ } });
  }
  t.match(await api.call('GET', `${functions}/none/events`), { status: 404 });
});
