import { Redis, type RedisOptions } from 'ioredis';

type Settings = Pick<
  RedisOptions,
  'host' | 'port' | 'username' | 'password' | 'tls' | 'connectTimeout' | 'commandTimeout'
>;

/**
 * Connects to a Redis server once, without reconnecting, because the callers' work is retried instead.
 * @throws Error with the cause of a failed connection
 */
export async function connectRedis(options: Settings): Promise<Redis> {
  const redis = new Redis({ ...options, lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  // `connect` rejects only with "Connection is closed"; the cause is in the event.
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
