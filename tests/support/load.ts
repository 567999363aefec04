import type { Platform } from './platform.ts';

/** Counts of the answers. */
export interface Load {
  /** So far. */
  answered(): number;
  stop(): Promise<{ answered: number; failures: string[] }>;
}

/** Sends requests one after another from several clients until `stop`, which returns the answers other than 200. */
export function underLoad(platform: Platform, url: string): Load {
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
