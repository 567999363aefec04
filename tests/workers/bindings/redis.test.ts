import { Redis } from 'ioredis';
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { newId } from '../../../runtime/domain/ids.ts';
import { bindingVariables, type BoundCredentials } from '../../../runtime/workloads/bindings.ts';
import { createRedisSource } from '../../../workers/events/redis.ts';
import { storeServer } from '../../support/store-server.ts';
import { bindingWorld, runningAt } from './binding-world.ts';

const server = await storeServer(t, 'redis');
const entry = { password: server.password };
const cache = { service: 'cache', version: 1 };

/** A connection with these credentials. */
async function signIn(t: Test, { username, password }: Pick<BoundCredentials, 'username' | 'password'>) {
  const redis = new Redis({
    host: server.host,
    port: server.port,
    lazyConnect: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
  });
  let reason: unknown;
  redis.on('error', (error) => (reason ??= error));
  t.teardown(() => redis.disconnect());
  await redis.connect().catch((error: unknown) => {
    throw reason ?? error;
  });
  return redis;
}

const refused = { message: /WRONGPASS/ };

async function world(t: Test) {
  const world = await bindingWorld(t);
  await world.addService('cache', { type: 'redis' }, { status: runningAt(server), credentials: entry });
  return world;
}

t.test('a binding creates a user that may use keys and channels but cannot administer the server', async (t) => {
  const { addFunction, work } = await world(t);
  const [api, other] = [await addFunction('api'), await addFunction('other')];
  await api.bind(cache);
  await other.bind(cache);
  await work();
  t.same(await api.status('cache'), { ...cache, phase: 'ready' });
  const [own, foreign] = [await api.credentials('cache'), await other.credentials('cache')];
  t.match(own.username, /^api_[0-9a-f]{12}$/);
  t.equal(new Set([own.password, foreign.password, server.password]).size, 3);
  const variables = Object.fromEntries(bindingVariables({}, own).map(({ name, value }) => [name, value]));
  t.match(variables, { REDIS_USERNAME: own.username, REDIS_PASSWORD: own.password });

  const redis = await signIn(t, own);
  await redis.rpush('jobs', 'one');
  await redis.publish('news', 'x');
  t.equal(await redis.eval('return redis.call("llen", KEYS[1])', 1, 'jobs'), 1);
  t.equal(await (await signIn(t, foreign)).lpop('jobs'), 'one', 'all users share the keys');
  const forbidden = ['config get *', 'acl list', 'flushall', 'flushdb', 'monitor', 'client list', 'save'];
  for (const words of [
    ...forbidden,
    'replicaof no one',
    'shutdown',
    'keys *',
    'client kill type normal',
    'module list',
  ]) {
    const [command = '', ...rest] = words.split(' ');
    await t.rejects(redis.call(command, ...rest), { message: /NOPERM/ }, words);
  }
});

t.test('events are read as that user', async (t) => {
  const { addFunction, work } = await world(t);
  const api = await addFunction('api');
  await api.bind(cache);
  await work();
  const credentials = await api.credentials('cache');
  await (await signIn(t, entry)).rpush('queue', 'one', 'two');
  const source = await createRedisSource()({
    workloadId: newId(),
    project: 'shop',
    credentials,
    address: server.host,
    settings: { type: 'redis', source: 'cache', list: 'queue' },
  });
  t.teardown(() => source.close());
  const payloads: (string | undefined)[] = [];
  for await (const page of source.read(new AbortController().signal)) {
    payloads.push(...page.map(({ payload }) => payload));
    await source.confirm(page);
  }
  t.same(payloads, ['"one"', '"two"']);
});

t.test(
  'a new password is valid at once, and the user survives a restart of the server until it is unbound',
  async (t) => {
    const { addFunction, work, workLater } = await world(t);
    const api = await addFunction('api');
    await api.bind(cache);
    await work();
    const first = await api.credentials('cache');
    await workLater();
    t.same(await api.credentials('cache'), first, 'repeating the work changes nothing');
    await api.bind({ ...cache, version: 2 });
    await work();
    const second = await api.credentials('cache');
    t.equal(second.username, first.username);
    await t.rejects(signIn(t, first), refused);
    await (await signIn(t, second)).set('answer', 42);

    await server.stop();
    await server.start();
    const open = await signIn(t, second);
    await t.rejects(open.config('GET', '*'), { message: /NOPERM/ });
    await t.rejects(signIn(t, first), refused);
    t.ok(await signIn(t, entry), 'the service’s own password is unchanged');

    const ended = once(open, 'end');
    await api.bind();
    await work();
    await ended;
    await t.rejects(signIn(t, second), refused);
    await server.stop();
    await server.start();
    await t.rejects(signIn(t, second), refused);
  },
);

t.test('an external server uses the registered credentials, and its errors are reported', async (t) => {
  const { addFunction, addService, work } = await world(t);
  const external = { host: server.host, port: server.port, tls: false };
  await addService('theirs', { type: 'redis', external }, { status: runningAt(server), credentials: entry });
  await addService('wrong', { type: 'redis' }, { status: runningAt(server), credentials: { password: 'no secret' } });
  const api = await addFunction('api');
  await api.bind({ service: 'theirs', version: 1 }, { service: 'wrong', version: 1 });
  await work();
  t.match(await api.status('theirs'), { phase: 'ready' });
  t.match(await api.credentials('theirs'), { password: server.password, username: undefined });
  t.match(await api.status('wrong'), { phase: 'failed', message: /^The server refused the request .*WRONGPASS/ });
  t.notMatch(JSON.stringify(await api.object()), /no secret/);
  const users = (await (await signIn(t, entry)).call('ACL', 'USERS')) as string[];
  await api.bind();
  await work();
  t.same(await (await signIn(t, entry)).call('ACL', 'USERS'), users);
});
