import type { Logger } from 'pino';
import { startClient, type ClientProcess } from './client-process.ts';

/** No client process became free in time: others use them all. */
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
  /** How long a request for a lease waits for a process, in ms. Default 8 s. */
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
   * @param owner whom the server belongs to: one owner never has all processes at the same time, and while it has its
   * share, one of its requests waits for a process, because each that waits takes a place of its queue
   * @throws NoClientError when no process became free in time, or at once for an owner with a share and a waiting request
   */
  lease(owner: string): Promise<ClientLease>;
  /** Kills all processes, and resolves when they have ended. */
  stop(): Promise<void>;
}

const defaultMemoryMaxBytes = 192 * 1024 * 1024;
/** The attempts of the queues that use clients take at most 60 s, waiting included. */
const defaultLeaseMs = 50_000;
const defaultWaitMs = 8_000;
const defaultIdleMs = 30_000;
/** How often the memory of processes is read; a process can take a few megabytes in the meantime. */
const watchMs = 50;

interface Waiter {
  owner: string;
  grant: (client: ClientProcess) => void;
}

/**
 * Processes that talk to tenants' servers (decision 0037): what a hostile server does to its client ends one of them, and
 * with it one lease. They start on demand, one for each lease at the same time, and end when they have been idle.
 */
export function createClientPool(options: ClientPoolOptions): ClientPool {
  const { max, memoryMaxBytes = defaultMemoryMaxBytes, leaseMs = defaultLeaseMs } = options;
  const { idleMs = defaultIdleMs, waitMs = defaultWaitMs } = options;
  const clients = new Set<ClientProcess>();
  const owners = new Map<ClientProcess, string>();
  const idle = new Map<ClientProcess, NodeJS.Timeout>();
  let waiters: Waiter[] = [];
  let watch: NodeJS.Timeout | undefined;
  let stopped = false;

  const leasesOf = (owner: string) => [...owners.values()].filter((each) => each === owner).length;
  const mayLease = (owner: string) => leasesOf(owner) < Math.max(1, max - 1);

  const watchMemory = () => {
    for (const client of owners.keys()) if (client.memoryBytes() > memoryMaxBytes) client.kill('memory');
  };

  const forgetAtEnd = async (client: ClientProcess) => {
    await client.ended;
    clients.delete(client);
    clearTimeout(idle.get(client));
    idle.delete(client);
    grant();
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

  const grant = () => {
    for (const waiter of [...waiters]) {
      if (!mayLease(waiter.owner)) continue;
      if (idle.size === 0 && clients.size >= max) return;
      const client = takeIdle() ?? start();
      owners.set(client, waiter.owner);
      waiter.grant(client);
    }
  };

  const release = (client: ClientProcess, reuse: boolean) => {
    owners.delete(client);
    if (owners.size === 0) watch = clearInterval(watch) as undefined;
    // One that keeps much of a lease's memory would not have it for the next lease.
    const isSmall = client.memoryBytes() <= memoryMaxBytes / 2;
    if (!reuse || stopped || !isSmall || !client.isUsable()) client.kill('released');
    else idle.set(client, setTimeout(() => client.kill('released'), idleMs).unref());
    grant();
  };

  const toLease = (client: ClientProcess): ClientLease => {
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
        release(client, reuse);
      },
    };
  };

  return {
    async lease(owner) {
      if (stopped) throw new NoClientError('The process is stopping.');
      if (!mayLease(owner) && waiters.some((waiter) => waiter.owner === owner)) {
        throw new NoClientError('This owner has its share of the client processes, and waits for one.');
      }
      const client = await new Promise<ClientProcess>((resolve, reject) => {
        const timer = setTimeout(() => {
          waiters = waiters.filter((each) => each !== waiter);
          reject(new NoClientError(`No client process was free within ${waitMs / 1000} s.`));
        }, waitMs);
        const waiter: Waiter = {
          owner,
          grant(granted) {
            clearTimeout(timer);
            waiters = waiters.filter((each) => each !== waiter);
            resolve(granted);
          },
        };
        waiters.push(waiter);
        grant();
      });
      return toLease(client);
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
