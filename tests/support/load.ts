import { setTimeout as wait } from 'node:timers/promises';
import type { IngressRequest } from '../../infra/demo/ingress.ts';
import type { Platform } from './platform.ts';

/** Counts of the answers. */
export interface Load {
  /** So far. */
  answered(): number;
  stop(): Promise<{ answered: number; failures: string[] }>;
}

/** The requests of a load, and the status of their answers. */
export interface LoadOptions extends IngressRequest {
  /** Default 200. */
  status?: number;
  /** Clients that send one request after another. Default 4. */
  clients?: number;
  /** Pause of a client between two requests. What counts is that some arrive at every moment, not how many. Default 20. */
  pauseMs?: number;
}

/** Sends requests until `stop`, which returns the answers with another status. */
export function startLoad(platform: Platform, url: string, options: LoadOptions = {}): Load {
  const { status: expected = 200, clients = 4, pauseMs = 20, ...request } = options;
  const failures: string[] = [];
  const stopping = new AbortController();
  let answered = 0;
  const client = async () => {
    while (!stopping.signal.aborted) {
      const failure = await platform.request(url, request).then(
        ({ status, body }) => (status === expected ? undefined : `${status} ${body}`),
        (error: unknown) => String(error),
      );
      if (failure === undefined) answered += 1;
      else failures.push(failure);
      await wait(pauseMs);
    }
  };
  const running = Array.from({ length: clients }, client);
  return {
    answered: () => answered,
    async stop() {
      stopping.abort();
      await Promise.all(running);
      return { answered, failures };
    },
  };
}
