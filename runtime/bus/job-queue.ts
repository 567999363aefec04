import { Queue } from 'bullmq';
import type { Logger } from 'pino';
import type { QueueName, WorkPayload } from '../queues/catalogue.ts';
import { openProducerRedis, withoutCommand, type RedisAddress } from './redis.ts';

/** The sending side of one queue. */
export interface JobQueue {
  readonly name: QueueName;
  start(): void;
  /** Whether Redis answers; nothing is claimed while it does not. */
  ready(): boolean;
  /** Jobs that no worker has taken yet. */
  waiting(): Promise<number>;
  /** Hands jobs over; one that is there already stays as it is. Rejects within seconds when Redis does not take them. */
  add(jobs: readonly WorkPayload[]): Promise<void>;
  stop(): Promise<void>;
}

/** A job's id; it names the attempt, since BullMQ ignores an id that it knows, in silence and in any state. */
export function jobId({ workId, attempt }: Pick<WorkPayload, 'workId' | 'attempt'>): string {
  return `${workId}-${attempt}`;
}

async function asking<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw withoutCommand(error);
  }
}

/** One BullMQ queue of the catalogue, which carries ids only: one attempt a job, since retries are rows of the work table. */
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
      // Every failed command rejects too, and the connection logs its own state.
      queue.on('error', () => undefined);
      open = { connection, queue };
    },
    ready: () => open?.connection.status === 'ready',
    waiting: () => asking(queue().getWaitingCount()),
    async add(jobs) {
      await asking(queue().addBulk(jobs.map((data) => ({ name, data, opts: { jobId: jobId(data) } }))));
    },
    async stop() {
      if (!open) return;
      const { connection, queue } = open;
      open = undefined;
      // Closing talks to Redis, which may be away.
      if (connection.status === 'ready') await queue.close().catch(() => undefined);
      connection.disconnect();
    },
  };
}
