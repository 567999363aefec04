import { setTimeout as wait } from 'node:timers/promises';
import { Redis } from 'ioredis';
import t from 'tap';
import { testApp } from './rollout-world.ts';
import { untilEnded, workerWorld } from './worker-world.ts';

/** How long Redis is down, in s: with `SVC_OUTAGE_SECONDS=60` the delay between reconnects reaches its maximum. */
const outageSeconds = Number(process.env['SVC_OUTAGE_SECONDS'] ?? 1);

t.test('Redis goes down, returns empty, and no accepted deployment is lost', async (t) => {
  const { pool, kube, redis, startWorkers } = await workerWorld(t);
  const app = await testApp(pool, kube, 'api');
  const workers = startWorkers();
  await workers.logged('process started');
  await app.accept('r/api:1');
  t.match(await untilEnded(app), [{ state: 'succeeded' }]);

  const redisDown = workers.logged('redis does not answer');
  redis.stop();
  await redisDown;
  await app.accept('r/api:2');
  await wait(outageSeconds * 1000);
  const back = workers.logged('redis answers again');
  await redis.start();
  await back;
  const client = new Redis(redis.url);
  await client.flushall();
  client.disconnect();
  t.match(await untilEnded(app), [{ state: 'succeeded' }, { state: 'succeeded' }]);
  await app.accept('r/api:3');
  t.match(await untilEnded(app), [{ revision: 3, state: 'succeeded', current: true }, {}, {}]);
  t.equal(workers.child.exitCode, null, 'without a restart');
});

t.test('SIGTERM drains, whether Redis is up or not', async (t) => {
  const { pool, kube, redis, startWorkers } = await workerWorld(t);
  const app = await testApp(pool, kube, 'api');
  const first = startWorkers();
  await first.logged('process started');
  await app.accept('r/api:1');
  await untilEnded(app);
  first.child.kill('SIGTERM');
  t.equal(await first.ended, 0);
  t.notMatch(first.lines.join('\n'), '"level":"error"');

  const second = startWorkers();
  await second.logged('process started');
  const redisDown = second.logged('redis does not answer');
  redis.stop();
  await redisDown;
  second.child.kill('SIGTERM');
  t.equal(await second.ended, 0);
});
