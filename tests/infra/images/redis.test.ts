import { Redis } from 'ioredis';
import t from 'tap';
import { storeServers } from '../../../infra/manifests/store-server.ts';
import { parseBytes } from '../../../runtime/domain/quantity.ts';
import { storeServer } from '../../support/store-server.ts';

t.test('Redis refuses writes before it reaches the limit of its container, and evicts nothing', async (t) => {
  const { host, port, password } = await storeServer(t, 'redis');
  const redis = new Redis({ host, port, password });
  t.teardown(() => redis.disconnect());
  t.same(await redis.config('GET', 'maxmemory-policy'), ['maxmemory-policy', 'noeviction']);
  const [, maxmemory] = (await redis.config('GET', 'maxmemory')) as [string, string];
  t.equal(Number(maxmemory), 0.75 * Number(parseBytes(storeServers.redis.memory.limit)));
  await redis.config('SET', 'maxmemory', '1');
  await t.rejects(redis.set('a', 'b'), /OOM command not allowed/);
});
