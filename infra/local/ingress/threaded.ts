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

/** What the thread is asked for: its metrics, or to stop. */
export type ThreadRequest = 'metrics' | 'stop';

/** The thread's message once it listens, and its metrics in Prometheus's text format. */
export type ThreadMessage = { port: number } | { metrics: string };

/** The ingress on a thread. */
export interface ThreadedIngress extends Ingress {
  /** The metrics of apps' requests in Prometheus's text format; undefined while the thread does not run. */
  metrics(): Promise<string | undefined>;
}

/**
 * The ingress on its own event loop, so that requests do not wait for the API server, the controllers or the node. It
 * reads objects through the API server, as any client does. An error in the thread after its start ends the process.
 */
export function createThreadedIngress(data: ThreadData): ThreadedIngress {
  let thread: Worker | undefined;
  return {
    async start() {
      const worker = new Worker(new URL('./thread.ts', import.meta.url), { workerData: data, execArgv: [] });
      const [message] = (await once(worker, 'message')) as [ThreadMessage];
      if (!('port' in message)) throw new Error('the ingress did not report its port');
      thread = worker;
      return message.port;
    },
    async metrics() {
      const worker = thread;
      if (!worker) return undefined;
      const answered = Promise.withResolvers<string | undefined>();
      const onMessage = (message: ThreadMessage) => {
        if ('metrics' in message) answered.resolve(message.metrics);
      };
      const onExit = () => answered.resolve(undefined);
      worker.on('message', onMessage).once('exit', onExit);
      worker.postMessage('metrics' satisfies ThreadRequest);
      try {
        return await answered.promise;
      } finally {
        worker.off('message', onMessage).off('exit', onExit);
      }
    },
    async stop() {
      const worker = thread;
      if (!worker) return;
      thread = undefined;
      const exited = once(worker, 'exit');
      worker.postMessage('stop' satisfies ThreadRequest);
      await exited;
    },
  };
}
