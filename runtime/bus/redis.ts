import { readFileSync } from 'node:fs';
import { Redis, type RedisOptions } from 'ioredis';
import type { Logger } from 'pino';

/** The address of Redis. */
export interface RedisAddress {
  /** `redis://host:port`; without a password in production. */
  url: string;
  /** Contains the password; read before the first connection. */
  passwordFile?: string;
}

/** Time-out of a command: Redis responds within milliseconds or not at all. */
const commandTimeoutMs = 2_000;
const retryMaxMs = 2_000;

/**
 * Removes the command from a Redis error before it is logged, because the error of a rejected AUTH contains the
 * password.
 * @returns the error
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
    // Retries forever: work waits in PostgreSQL.
    retryStrategy: (times: number) => Math.min(retryMaxMs, 50 * 2 ** Math.min(times, 10)),
  });
  let lost = false;
  // Registered first, so that other listeners get the error without its command, too.
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

/**
 * A connection for adding jobs. It connects immediately, and commands fail instead of being queued while Redis is
 * unavailable.
 */
export function openProducerRedis(address: RedisAddress, log: Logger): Redis {
  return open(address, log, { enableOfflineQueue: false, maxRetriesPerRequest: 0, commandTimeout: commandTimeoutMs });
}

/** A connection for a BullMQ worker. It connects immediately and retries forever, as blocking reads require. */
export function openWorkerRedis(address: RedisAddress, log: Logger): Redis {
  return open(address, log, { maxRetriesPerRequest: null });
}
