import { Queue } from 'bullmq';
import type { Logger } from 'pino';
import type { QueueName, WorkPayload } from '../queues/catalogue.ts';
import { openProducerRedis, withoutCommand, type RedisAddress } from './redis.ts';

/** The producer of one queue. */
export interface JobQueue {
  readonly name: QueueName;
  start(): void;
  /** Whether Redis is connected. While it is not, no work is claimed. */
  ready(): boolean;
  /** The number of jobs that no worker has started. */
  waiting(): Promise<number>;
  /** Adds jobs; a job that already exists is kept. Rejects within seconds when Redis does not accept them. */
  add(jobs: readonly WorkPayload[]): Promise<void>;
  stop(): Promise<void>;
}

/** A job's id. It contains the attempt, because BullMQ silently ignores a job whose id exists, whatever its state. */
export function jobId({ workId, attempt }: Pick<WorkPayload, 'workId' | 'attempt'>): string {
  return `${workId}-${attempt}`;
}

async function redactErrors<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    throw withoutCommand(error);
  }
}

/**
 * The BullMQ queue of a catalogue entry. Its jobs contain only ids and run once, because retries are rows of the work
 * table.
 */
export function createJobQueue({ name, redis, log }: { name: QueueName; redis: RedisAddress; log: Logger }): JobQueue {
  let open: { connection: ReturnType<typeof openProducerRedis>; queue: Queue } | undefined;

  const queue = () => {
    if (!open) throw new Error(`the queue ${name} is not open`);
    return open.queue;
  };

  return {
    name,
    start() {
      if (open) return;
      const connection = openProducerRedis(redis, log);
      const queue = new Queue(name, {
        connection,
        defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
      });
      // Failed commands reject as well, and the connection logs its state.
      queue.on('error', () => undefined);
      open = { connection, queue };
    },
    ready: () => open?.connection.status === 'ready',
    waiting: () => redactErrors(queue().getWaitingCount()),
    async add(jobs) {
      await redactErrors(queue().addBulk(jobs.map((data) => ({ name, data, opts: { jobId: jobId(data) } }))));
    },
    async stop() {
      if (!open) return;
      const { connection, queue } = open;
      open = undefined;
      // Closing sends commands to Redis, which may be unavailable.
      if (connection.status === 'ready') await queue.close().catch(() => undefined);
      connection.disconnect();
    },
  };
}
