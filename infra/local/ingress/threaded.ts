import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Ingress, IngressOptions } from './ingress.ts';

/** The thread's configuration. */
export interface ThreadData extends Pick<IngressOptions, 'port' | 'host' | 'entryPoints'> {
  /** Name and level of its log, which goes to the process's stdout. */
  name: string;
  level: string;
  /** The API server's address and certificate, and the ingress's token. */
  apiServer: string;
  ca: string;
  token: string;
}

/** The thread's message once it listens. */
export interface ThreadMessage {
  port: number;
}

/**
 * The ingress on its own event loop, so that requests do not wait for the API server, the controllers or the node. It
 * reads objects through the API server, as any client does. An error in the thread after its start ends the process.
 */
export function createThreadedIngress(data: ThreadData): Ingress {
  let thread: Worker | undefined;
  return {
    async start() {
      const worker = new Worker(new URL('./thread.ts', import.meta.url), { workerData: data, execArgv: [] });
      const [{ port }] = (await once(worker, 'message')) as [ThreadMessage];
      thread = worker;
      return port;
    },
    async stop() {
      const worker = thread;
      if (!worker) return;
      thread = undefined;
      const exited = once(worker, 'exit');
      worker.postMessage('stop');
      await exited;
    },
  };
}
