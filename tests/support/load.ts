import { setTimeout as wait } from 'node:timers/promises';
import type { Platform } from './platform.ts';

/** Pause of a client between two requests, in ms: what counts is that some arrive at every moment, not how many. */
const pauseMs = 20;

/** Counts of the answers. */
export interface Load {
  /** So far. */
  answered(): number;
  stop(): Promise<{ answered: number; failures: string[] }>;
}

/** Sends requests from four clients, each one after another, until `stop`, which returns the answers other than 200. */
export function startLoad(platform: Platform, url: string): Load {
  const failures: string[] = [];
  const stopping = new AbortController();
  let answered = 0;
  const client = async () => {
    while (!stopping.signal.aborted) {
      const failure = await platform.request(url).then(
        ({ status, body }) => (status === 200 ? undefined : `${status} ${body}`),
        (error: unknown) => String(error),
      );
      if (failure === undefined) answered += 1;
      else failures.push(failure);
      await wait(pauseMs);
    }
  };
  const clients = [client(), client(), client(), client()];
  return {
    answered: () => answered,
    async stop() {
      stopping.abort();
      await Promise.all(clients);
      return { answered, failures };
    },
  };
}
