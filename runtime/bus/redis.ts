import { readFileSync } from 'node:fs';
import { Redis, type RedisOptions } from 'ioredis';
import type { Logger } from 'pino';

/** Where Redis is. */
export interface RedisAddress {
  /** `redis://host:port`; in production without a password. */
  url: string;
  /** Holds the password; read when a connection is opened for the first time. */
  passwordFile?: string;
}

/** A command that takes longer counts as failed: Redis answers within milliseconds or not at all. */
const commandTimeoutMs = 2_000;
const retryMaxMs = 2_000;

/**
 * Takes the command out of a Redis error, and answers with the error: that of a refused AUTH carries the password, and
 * errors are logged.
 */
export function withoutCommand(error: unknown): unknown {
  if (error instanceof Error && 'command' in error) delete error.command;
  return error;
}

type Behaviour = Pick<RedisOptions, 'enableOfflineQueue' | 'maxRetriesPerRequest' | 'commandTimeout'>;

function open({ url, passwordFile }: RedisAddress, log: Logger, options: Behaviour): Redis {
  const redis = new Redis(url, {
    ...options,
    ...(passwordFile !== undefined && { password: readFileSync(passwordFile, 'utf8').trim() }),
    connectTimeout: 5_000,
    // For ever: work waits in PostgreSQL meanwhile.
    retryStrategy: (times: number) => Math.min(retryMaxMs, 50 * 2 ** Math.min(times, 10)),
  });
  let lost = false;
  // The first listener: others get the error without its command, too.
  redis.on('error', (error: Error) => {
    withoutCommand(error);
    if (!lost) log.warn({ err: error }, 'redis does not answer');
    lost = true;
  });
  redis.on('ready', () => {
    if (lost) log.info('redis answers again');
    lost = false;
  });
  return redis;
}

/** A connection for handing over: fails fast while Redis is away, instead of queueing commands. Connects at once. */
export function openProducerRedis(address: RedisAddress, log: Logger): Redis {
  return open(address, log, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: commandTimeoutMs,
  });
}

/** A connection for a BullMQ worker: waits for Redis for ever, as its blocking reads need. Connects at once. */
export function openWorkerRedis(address: RedisAddress, log: Logger): Redis {
  return open(address, log, { maxRetriesPerRequest: null });
}
