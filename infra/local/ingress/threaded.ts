import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Ingress, IngressOptions } from './ingress.ts';

/** What the thread is given. */
export interface ThreadData extends Pick<IngressOptions, 'port' | 'host' | 'entryPoints'> {
  /** Of its log, which goes to the process's stdout. */
  name: string;
  level: string;
  /** The API server's address, the certificate that it has, and whom the ingress is there. */
  apiServer: string;
  ca: string;
  token: string;
}

/** What the thread says once it listens. */
export interface ThreadMessage {
  port: number;
}

/**
 * The embedded ingress on an event loop of its own: a request through it waits for no work of the API server, of the
 * controllers or of the node. It sees the objects as any client does, through the API server. What breaks in it after its
 * start ends the process, as it would without the thread.
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
