import { Redis } from 'ioredis';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { newId } from '../../../runtime/domain/ids.ts';
import { purgeDead } from '../../../runtime/records/dead-letters.ts';
import { recordFailed } from '../../../runtime/records/event-deliveries.ts';
import type { SourceEvent } from '../../../runtime/domain/events.ts';
import { beginPoll, addEvents } from '../../../runtime/records/function-events.ts';
import { createRemoteSource } from '../../../workers/events/remote-source.ts';
import { testClients } from '../../support/clients.ts';
import { createRedisSource, listsOf } from '../../../workers/events/redis.ts';
import { killServer, startRedis, testServers } from '../../support/servers.ts';
import { eventWorld, recordPages, showPages, type EventWorldOptions } from './event-world.ts';

const remote = createRemoteSource(testClients(t));

async function world(
  t: Test,
  { port = testServers().redis.port, ...options }: Partial<EventWorldOptions> & { port?: number } = {},
) {
  const list = `jobs:${newId()}`;
  const redis = new Redis(port);
  t.teardown(() => redis.disconnect());
  const settings = { type: 'redis' as const, source: 'cache', list };
  const credentials = { type: 'redis' as const, host: '127.0.0.1', port, tls: false };
  const base = await eventWorld(t, { sources: { redis: remote }, settings, credentials, ...options });
  const lists = listsOf(list, base.id);
  const lengths = async () => ({ list: await redis.llen(list), processing: await redis.llen(lists.processing) });
  return { ...base, redis, list, lists, lengths, credentials };
}

t.test('items are taken from the left end, in order, whatever their bytes', async (t) => {
  const { redis, list, turn, deliver, lengths, state } = await world(t);
  const items = ['plain', '{"order":1}', '{"order":1}', '42', '"quoted"', '', Buffer.from([0xff, 0x00, 0x0a])];
  await redis.rpush(list, ...items);
  await turn();
  t.same(await deliver(), ['plain', { order: 1 }, { order: 1 }, 42, 'quoted', '', { base64: '/wAK' }]);
  t.same(await lengths(), { list: 0, processing: 0 });
  await redis.rpush(list, 'plain');
  await turn();
  t.same(await deliver(), ['plain'], 'an item with the same content is a new event');
  t.equal((await state())?.error, null);
});

t.test('items for which there is no room stay in Redis', async (t) => {
  const { redis, list, turn, deliver, lengths, count } = await world(t);
  const numbers = Array.from({ length: 2_345 }, (_, n) => n);
  await redis.rpush(list, ...numbers.map(String));
  const got: unknown[] = [];
  for (let round = 0; round < 10 && got.length < numbers.length; round++) {
    await turn();
    t.ok((await count('pending')) <= 1_000);
    t.equal((await lengths()).processing, 0);
    got.push(...(await deliver()));
  }
  t.same(got, numbers);
  t.same(await lengths(), { list: 0, processing: 0 });
});

t.test('delivered events are forgotten, even while new ones arrive', async (t) => {
  const { redis, list, turn, deliver, pool, id, state, lease } = await world(t);
  await redis.rpush(list, ...Array.from({ length: 6_000 }, (_, n) => String(n)));
  await turn();
  const [refused] = await lease(1);
  if (!refused) throw new Error('an event');
  await recordFailed(pool, id, [{ ...refused, status: 400, message: '' }]);
  await purgeDead(pool, id, 'all');
  for (let round = 0; round < 4; round++) {
    await deliver();
    await turn();
    t.equal((await state())?.more, true);
  }
  const { rows } = await pool.query(`SELECT id FROM function_events WHERE state = 'known'`);
  t.ok(rows.length <= 1_000, `${rows.length} are known`);
  t.notOk(rows.some(({ id: rowId }) => rowId === refused.id));
});

t.test('nothing is lost or duplicated when the reader is killed between storing and removing', async (t) => {
  const { redis, list, turn, deliver, lengths, pool, id, state, credentials } = await world(t);
  await redis.rpush(list, 'one', 'two', 'two');
  const current = await state();
  const poll = current && (await beginPoll(pool, current));
  if (!poll) throw new Error('a source');
  const { settings } = current;
  const source = await createRedisSource()({
    workloadId: id,
    project: 'shop',
    settings,
    credentials,
    address: '127.0.0.1',
  });
  const reading = source.read(new AbortController().signal)[Symbol.asyncIterator]();
  const page = (await reading.next()).value as readonly SourceEvent[];
  t.equal((await addEvents(pool, poll, page, poll.room))?.added, page.length);
  await source.close();
  t.equal((await lengths()).processing, page.length);
  await redis.rpush(list, 'three');
  await turn();
  await turn();
  t.same(await deliver(), ['one', 'two', 'two', 'three']);
  t.same(await lengths(), { list: 0, processing: 0 });
});

t.test('items that a reader does not store return to their list, in order', async (t) => {
  let [overtaken, failing] = [true, false];
  const { redis, list, turn, deliver, lengths, overtake } = await world(t, {
    sources: {
      redis: showPages(remote, async () => {
        if (overtaken) await overtake();
      }),
    },
    failpoint: () => {
      if (failing) throw new Error('no database');
    },
  });
  await redis.rpush(list, 'one', 'two', 'two', 'three');
  await turn();
  t.same(await lengths(), { list: 4, processing: 0 }, 'another list is read now');
  [overtaken, failing] = [false, true];
  await t.rejects(turn(), /no database/);
  t.same(await lengths(), { list: 4, processing: 0 });
  failing = false;
  await turn();
  t.same(await deliver(), ['one', 'two', 'two', 'three'], 'the stored event is known');
  t.same(await lengths(), { list: 0, processing: 0 });
});

t.test('nothing is taken for a function that is being deleted or has another trigger', async (t) => {
  const { redis, list, turn, lengths, count, kube, resource } = await world(t);
  await redis.rpush(list, 'one');
  const { events: _, ...spec } = resource.spec;
  const { metadata } = resource;
  const deleted = { ...metadata, deletionTimestamp: new Date().toISOString(), finalizers: ['test'] };
  for (const missingStatus of [
    { ...resource, spec },
    { ...resource, metadata: deleted },
  ]) {
    kube.seed(missingStatus);
    t.ok(((await turn()) ?? 0) > 500, 'until its controller has done so');
    t.same(await lengths(), { list: 1, processing: 0 });
  }
  t.equal(await count('pending'), 0);
});

t.test('a Redis that restarts keeps its items for the function', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-redis-source-'));
  let server = await startRedis(folder);
  t.teardown(async () => {
    await killServer(server.pid);
    rmSync(folder, { recursive: true, force: true });
  });
  const { redis, list, turn, deliver, state } = await world(t, { port: server.port });
  await redis.config('SET', 'appendfsync', 'always');
  await redis.rpush(list, 'one', 'two');
  redis.disconnect();
  await killServer(server.pid);
  await turn();
  t.match(await state(), { failures: 1, error: /Cannot reach the service \(ECONNREFUSED\)/ });
  server = await startRedis(folder, server.port);
  await turn();
  t.same(await deliver(), ['one', 'two']);
  t.equal((await state())?.error, null);
});

t.test('an item that is too large for an event is moved to a separate list', async (t) => {
  const { redis, list, lists, turn, deliver, count } = await world(t);
  // As JSON, text has two quotes more.
  const largest = 'x'.repeat(1024 * 1024 - 2);
  const large = [`${largest}x`, '"'.repeat(600_000), 'x'.repeat(5_000_000)];
  await redis.rpush(list, 'before', ...large, largest, 'after');
  await turn();
  t.ok((await deliver()).join() === `before,${largest},after`);
  t.equal(await count('dead'), 3);
  t.ok((await redis.lrange(lists.tooLarge, 0, -1)).join() === large.join());
});

t.test('an item that is too large to be read is moved to the separate list unread', async (t) => {
  const { redis, list, lists, turn, deliver, count, state } = await world(t);
  const huge = 'x'.repeat(33 * 1024 * 1024);
  await redis.rpush(list, ...Array.from({ length: 20 }, (_, n) => String(n)));
  await redis.rpush(list, huge, huge, 'between', 'after');
  await turn();
  t.equal((await state())?.error, null);
  const delivered = await deliver();
  t.same(delivered.slice(20), ['between', 'after']);
  t.same(
    delivered.slice(0, 20),
    Array.from({ length: 20 }, (_, n) => n),
  );
  t.equal(await count('dead'), 2);
  t.same(await redis.llen(list), 0);
  t.same(await redis.llen(lists.processing), 0);
  t.same(await redis.llen(lists.tooLarge), 2);
  t.ok((await redis.lindex(lists.tooLarge, 1)) === huge);
});

t.test('small items are read in large pages, large ones in small pages', async (t) => {
  const { open, pages } = recordPages(remote);
  const { redis, list, turn, deliver, lengths } = await world(t, { sources: { redis: open } });
  const items = Array.from({ length: 500 }, (_, n) =>
    n < 400 || n > 440 ? String(n) : `"${n}${'x'.repeat(900_000)}"`,
  );
  await redis.rpush(list, ...items);
  // A turn ends after some seconds, however far it came.
  do await turn();
  while (Object.values(await lengths()).some((length) => length > 0));
  t.equal(Math.max(...pages.map(({ length }) => length)), 100);
  // An item that was read together with small ones is the first sign.
  const large = pages.filter((page) => page.some((size) => (size ?? 0) > 900_000));
  t.ok(
    large.slice(1).every(({ length }) => length <= 4),
    large.map(({ length }) => length).join(),
  );
  t.ok((large[0] ?? []).filter((size) => (size ?? 0) > 900_000).length <= 16);
  t.same(await lengths(), { list: 0, processing: 0 });
  let got: unknown[] = [];
  for (let some = await deliver(); some.length > 0; some = await deliver()) got = [...got, ...some];
  t.same(
    got,
    items.map((item) => JSON.parse(item) as unknown),
  );
});

t.test('a moved item that is too large for the reader is read with fewer others each time', async (t) => {
  const { open, pages } = recordPages(remote);
  const { redis, lists, turn, deliver, lengths } = await world(t, { sources: { redis: open } });
  await redis.rpush(lists.processing, ...Array.from({ length: 40 }, (_, n) => String(n)));
  await turn();
  t.same(
    pages.map(({ length }) => length),
    [1, 2, 4, 8, 25],
  );
  t.equal((await deliver()).length, 40);
  t.same(await lengths(), { list: 0, processing: 0 });
});

t.test('an external source is read only in networks that workloads may reach', async (t) => {
  const { redis, list, turn, deliver, state, open } = await world(t);
  await redis.rpush(list, 'one');
  open([]);
  await turn();
  t.match(await state(), {
    failures: 1,
    error: /^source\.test is in a private network that workloads may not use\. .*config set/,
  });
  t.equal(await redis.llen(list), 1);
  open(['127.0.0.1/32']);
  await turn();
  t.same(await deliver(), ['one']);
});

t.test('an error from Redis is reported without the password', async (t) => {
  const { redis, list, turn, state, bind, credentials } = await world(t);
  await redis.set(list, 'no list');
  await turn();
  t.match((await state())?.error, /Redis refused the request: WRONGTYPE/);
  bind({ ...credentials, username: 'nobody', password: 'correct-horse' });
  await turn();
  const { error } = (await state()) ?? {};
  t.match(error, /Redis refused the request: WRONGPASS/);
  t.notMatch(error, /correct-horse/);
});
