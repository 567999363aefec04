import { Redis, type RedisOptions } from 'ioredis';

type Settings = Pick<
  RedisOptions,
  'host' | 'port' | 'username' | 'password' | 'tls' | 'connectTimeout' | 'commandTimeout'
>;

/**
 * A connection to a Redis server for one piece of work: it is tried once and not made again, since the work is.
 * Rejects with why it cannot be made.
 */
export async function connectRedis(options: Settings): Promise<Redis> {
  const redis = new Redis({ ...options, lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  // What is rejected below says only that the connection is closed.
  let reason: unknown;
  redis.on('error', (error) => (reason ??= error));
  try {
    await redis.connect();
    return redis;
  } catch (error) {
    redis.disconnect();
    throw reason ?? error;
  }
}
