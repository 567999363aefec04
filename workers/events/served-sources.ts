import type { SourceEvent } from '../../runtime/domain/events.ts';
import type { CallHandlers } from '../../runtime/process/client-calls.ts';
import type { ListedObject } from '../../runtime/services/object-store.ts';
import { listBucket, type BucketTarget } from './bucket-listing.ts';
import type { EventSource, OpenSource, SourceRequest } from './source.ts';

/** Loaded when needed, because a process rarely reads all types. */
const openers: Readonly<Record<string, () => Promise<OpenSource>>> = {
  postgres: async () => (await import('./postgres.ts')).createPostgresSource(),
  mysql: async () => (await import('./mysql.ts')).createMysqlSource(),
  redis: async () => (await import('./redis.ts')).createRedisSource(),
};

/** What a client process does for `createRemoteSource` and `createRemoteListing`: one source at a time. */
export function serveSources(): CallHandlers {
  let source: EventSource | undefined;
  let reading: AsyncIterator<readonly SourceEvent[]> | undefined;
  let page: readonly SourceEvent[] = [];
  let listing: AsyncGenerator<ListedObject[]> | undefined;
  const opened = (): EventSource => {
    if (source) return source;
    throw new Error('No source is open.');
  };
  // The caller ends readings that take too long by ending the process.
  const { signal } = new AbortController();

  return {
    async openSource(parameters) {
      const request = parameters as SourceRequest;
      const opener = openers[request.settings.type];
      if (!opener) throw new Error(`There are no sources of type ${request.settings.type}.`);
      source = await (await opener())(request);
      return { consumed: source.consumed === true };
    },
    read() {
      reading = opened().read(signal)[Symbol.asyncIterator]();
      return Promise.resolve();
    },
    async nextPage() {
      const next = await reading?.next();
      page = next?.done === false ? next.value : [];
      return next?.done === false ? page : null;
    },
    async stopReading() {
      await reading?.return?.();
      reading = undefined;
    },
    async confirm(parameters) {
      await opened().confirm(page.slice(0, (parameters as { count: number }).count));
    },
    async markDone(parameters) {
      return [...(await opened().markDone((parameters as { ids: readonly string[] }).ids))];
    },
    async closeSource() {
      await source?.close();
      source = undefined;
    },
    openListing(parameters) {
      listing = listBucket(parameters as BucketTarget, signal);
      return Promise.resolve();
    },
    async nextObjects() {
      const next = await listing?.next();
      return next?.done === false ? next.value : null;
    },
    async closeListing() {
      await listing?.return(undefined);
      listing = undefined;
    },
  };
}
