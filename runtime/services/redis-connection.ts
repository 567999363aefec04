import { Redis, type RedisOptions } from 'ioredis';
import { limitAnswers, type AnswerLimit } from './answer-limit.ts';

type Settings = Pick<
  RedisOptions,
  'host' | 'port' | 'username' | 'password' | 'tls' | 'connectTimeout' | 'commandTimeout'
>;

/**
 * Connects to a Redis server of a tenant once, without reconnecting, because the callers' work is retried instead.
 * @param limit of what the server may send for one command, or for commands that are sent together
 * @throws Error with the cause of a failed connection
 */
export async function connectRedis(options: Settings, limit: AnswerLimit = limitAnswers()): Promise<Redis> {
  const redis = new Redis({ ...options, lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  // `connect` rejects only with "Connection is closed"; the cause is in the event.
  let reason: unknown;
  redis.on('connect', () => limit.watch(redis.stream));
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (command, stream) => {
    limit.reset();
    return send(command, stream);
  };
  redis.on('error', (error) => (reason ??= error));
  try {
    await redis.connect();
    return redis;
  } catch (error) {
    closeRedis(redis);
    throw reason ?? error;
  }
}

/** Closes a connection without waiting for the server, which need not close its side. */
export function closeRedis(redis: Redis): void {
  redis.disconnect();
  // There is none before the first connection.
  (redis as { stream?: Redis['stream'] }).stream?.destroy();
}
