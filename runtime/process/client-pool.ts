import type { Logger } from 'pino';
import { createFairPlaces, PlacesFull } from '../domain/fair-places.ts';
import { startClient, type ClientProcess } from './client-process.ts';

/** No client process became free in time: others use them all, or the owner has its share. */
export class NoClientError extends Error {
  override readonly name = 'NoClientError';
}

export interface ClientPoolOptions {
  /** The program of the processes, which calls `serveCalls` on file descriptor 3. */
  program: string;
  /** Maximum number of processes. */
  max: number;
  /** The environment of this process, of which the processes get what they need to find and verify servers. */
  env: Readonly<Record<string, string | undefined>>;
  log: Logger;
  /** Maximum memory of a process, without the files that it maps, in bytes. Default 192 MiB. */
  memoryMaxBytes?: number;
  /** Time-out of one lease, after which its process is killed, in ms. Default 50 s. */
  leaseMs?: number;
  /** How long a request for a lease waits for a process, in ms. Default 4 s. */
  waitMs?: number;
  /** How long a process waits for its next lease, in ms. Default 30 s. */
  idleMs?: number;
}

/** One process, for one tenant's server. */
interface ClientLease {
  /**
   * @param signal kills the process
   * @throws CallError for what the program threw, ClientEndedError when the process ended before it answered
   */
  call(method: string, parameters: object, signal?: AbortSignal): Promise<unknown>;
  /** Returns the process. @param reuse whether its next lease may get it; otherwise it is killed */
  release(reuse: boolean): void;
}

export interface ClientPool {
  /**
   * @param owner whom the server belongs to: one owner never has all processes at the same time, and one of its requests
   * waits for a process, because each that waits takes a place of its queue. A free process goes to the owner that has fewest
   * @throws NoClientError when no process became free in time, or at once for an owner with a waiting request
   */
  lease(owner: string): Promise<ClientLease>;
  /** Kills all processes, and resolves when they have ended. */
  stop(): Promise<void>;
}

const defaultMemoryMaxBytes = 192 * 1024 * 1024;
/** The attempts of the queues that use clients take at most 60 s, waiting included. */
const defaultLeaseMs = 50_000;
const defaultWaitMs = 4_000;
/** Owners that wait at once: as many as the queues have jobs. */
const waitingMax = 50;
const defaultIdleMs = 30_000;
/** How often the memory of processes is read; a process can take a few megabytes in the meantime. */
const watchMs = 50;

/**
 * Processes that talk to tenants' servers (decision 0037): what a hostile server does to its client ends one of them, and
 * with it one lease. They start on demand, one for each lease at the same time, and end when they have been idle.
 */
export function createClientPool(options: ClientPoolOptions): ClientPool {
  const { max, memoryMaxBytes = defaultMemoryMaxBytes, leaseMs = defaultLeaseMs } = options;
  const { idleMs = defaultIdleMs, waitMs = defaultWaitMs } = options;
  const clients = new Set<ClientProcess>();
  const leased = new Set<ClientProcess>();
  const idle = new Map<ClientProcess, NodeJS.Timeout>();
  const perKey = Math.max(1, max - 1);
  const places = createFairPlaces({ total: max, perKey, waitingPerKey: 1, waitingTotal: waitingMax });
  let watch: NodeJS.Timeout | undefined;
  let stopped = false;

  const watchMemory = () => {
    for (const client of leased) if (client.memoryBytes() > memoryMaxBytes) client.kill('memory');
  };

  const forgetAtEnd = async (client: ClientProcess) => {
    await client.ended;
    clients.delete(client);
    clearTimeout(idle.get(client));
    idle.delete(client);
  };

  const start = (): ClientProcess => {
    const client = startClient({ ...options, memoryMaxBytes, leaseMs });
    clients.add(client);
    void forgetAtEnd(client);
    return client;
  };

  const takeIdle = (): ClientProcess | undefined => {
    // The last one, so that the others end when they are not needed.
    const client = [...idle.keys()].at(-1);
    if (!client) return undefined;
    clearTimeout(idle.get(client));
    idle.delete(client);
    return client;
  };

  const release = (client: ClientProcess, reuse: boolean, leave: () => void) => {
    leased.delete(client);
    if (leased.size === 0) watch = clearInterval(watch) as undefined;
    // One that keeps much of a lease's memory would not have it for the next lease.
    const isSmall = client.memoryBytes() <= memoryMaxBytes / 2;
    if (!reuse || stopped || !isSmall || !client.isUsable()) {
      client.kill('released');
      // Its memory is in use until then.
      void client.ended.then(leave);
      return;
    }
    idle.set(client, setTimeout(() => client.kill('released'), idleMs).unref());
    leave();
  };

  const toLease = (client: ClientProcess, leave: () => void): ClientLease => {
    let released = false;
    // The client's process keeps this one running for as long as there is something to kill.
    const timer = setTimeout(() => client.kill('time'), leaseMs).unref();
    watch ??= setInterval(watchMemory, watchMs).unref();
    return {
      call: (method, parameters, signal) => client.call(method, parameters, signal),
      release(reuse) {
        if (released) return;
        released = true;
        clearTimeout(timer);
        release(client, reuse, leave);
      },
    };
  };

  return {
    async lease(owner) {
      if (stopped) throw new NoClientError('The process is stopping.');
      const leave = await places.enter(owner, AbortSignal.timeout(waitMs)).catch((error: unknown) => {
        throw new NoClientError(
          error instanceof PlacesFull
            ? 'This owner waits for a client process already.'
            : `No client process was free within ${waitMs / 1000} s.`,
        );
      });
      if (stopped) {
        leave();
        throw new NoClientError('The process is stopping.');
      }
      const client = takeIdle() ?? start();
      leased.add(client);
      return toLease(client, leave);
    },
    async stop() {
      stopped = true;
      clearInterval(watch);
      await Promise.all(
        [...clients].map((client) => {
          client.kill('released');
          return client.ended;
        }),
      );
    },
  };
}
