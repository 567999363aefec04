import { Redis } from 'ioredis';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { newId } from '../../../runtime/domain/ids.ts';
import { createRedisSource, listsOf } from '../../../workers/events/redis.ts';
import { killServer, startRedis, testServers } from '../../support/servers.ts';
import { eventWorld, type EventWorldOptions } from './event-world.ts';

async function world(
  t: Test,
  { port = testServers().redis.port, ...options }: Partial<EventWorldOptions> & { port?: number } = {},
) {
  const list = `jobs:${newId()}`;
  const redis = new Redis(port);
  t.teardown(() => redis.disconnect());
  const settings = { type: 'redis' as const, source: 'cache', list };
  const credentials = { type: 'redis' as const, host: '127.0.0.1', port, tls: false };
  const made = await eventWorld(t, { sources: { redis: createRedisSource() }, settings, credentials, ...options });
  const lists = listsOf(list, made.id);
  const lengths = async () => ({ list: await redis.llen(list), processing: await redis.llen(lists.processing) });
  return { ...made, redis, list, lists, lengths, credentials };
}

t.test('items come from the left end, in their order, whatever their bytes are', async (t) => {
  const { redis, list, turn, deliver, lengths, state } = await world(t);
  const items = ['plain', '{"order":1}', '{"order":1}', '42', '"quoted"', '', Buffer.from([0xff, 0x00, 0x0a])];
  await redis.rpush(list, ...items);
  await turn();
  t.same(await deliver(), ['plain', { order: 1 }, { order: 1 }, 42, 'quoted', '', { base64: '/wAK' }]);
  t.same(await lengths(), { list: 0, processing: 0 });
  await redis.rpush(list, 'plain');
  await turn();
  t.same(await deliver(), ['plain'], 'an item that comes again is another one');
  t.equal((await state())?.error, null);
});

t.test('more items than there is room for stay in Redis until there is', async (t) => {
  const { redis, list, turn, deliver, lengths, count } = await world(t);
  const numbers = Array.from({ length: 2_345 }, (_, n) => n);
  await redis.rpush(list, ...numbers.map(String));
  const got: unknown[] = [];
  for (let round = 0; round < 10 && got.length < numbers.length; round++) {
    await turn();
    t.ok((await count('pending')) <= 1_000);
    got.push(...(await deliver()));
  }
  t.same(got, numbers);
  t.same(await lengths(), { list: 0, processing: 0 });
});

t.test('nothing is lost, and nothing comes twice, when the reader dies between keeping and removing', async (t) => {
  let dying = true;
  const { redis, list, turn, deliver, lengths } = await world(t, {
    failpoint: () => {
      if (dying) throw new Error('killed');
    },
  });
  await redis.rpush(list, 'one', 'two', 'two');
  await t.rejects(turn(), /killed/);
  t.same(await lengths(), { list: 0, processing: 3 });
  dying = false;
  await redis.rpush(list, 'three');
  await turn();
  await turn();
  t.same(await deliver(), ['one', 'two', 'two', 'three']);
  t.same(await lengths(), { list: 0, processing: 0 });
});

t.test('a Redis that goes and comes back keeps its items for the function', async (t) => {
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
  t.match(await state(), { failures: 1, error: /does not answer \(ECONNREFUSED\)/ });
  server = await startRedis(folder, server.port);
  await turn();
  t.same(await deliver(), ['one', 'two']);
  t.equal((await state())?.error, null);
});

t.test('an item too large for an event is kept in a list beside', async (t) => {
  const { redis, list, lists, turn, deliver, count } = await world(t);
  const large = 'x'.repeat(1024 * 1024);
  await redis.rpush(list, 'before', large, 'after');
  await turn();
  t.same(await deliver(), ['before', 'after']);
  t.equal(await count('dead'), 1);
  t.ok((await redis.lrange(lists.tooLarge, 0, -1)).join() === large);
});

t.test('an external source is read only where workloads may reach it', async (t) => {
  const { redis, list, turn, deliver, state, open } = await world(t);
  await redis.rpush(list, 'one');
  open([]);
  await turn();
  t.match(await state(), {
    failures: 1,
    error: /^source\.test is in no network that workloads may reach; .*config set/,
  });
  t.equal(await redis.llen(list), 1);
  open(['127.0.0.1/32']);
  await turn();
  t.same(await deliver(), ['one']);
});

t.test('what Redis refuses is said, without the password', async (t) => {
  const { redis, list, turn, state, bind, credentials } = await world(t);
  await redis.set(list, 'no list');
  await turn();
  t.match((await state())?.error, /Redis refused the function: WRONGTYPE/);
  bind({ ...credentials, username: 'nobody', password: 'correct-horse' });
  await turn();
  const { error } = (await state()) ?? {};
  t.match(error, /Redis refused the function: WRONGPASS/);
  t.notMatch(error, /correct-horse/);
});
