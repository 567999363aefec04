import { z } from 'zod';
import type { SourceEvent } from '../../runtime/domain/events.ts';
import { openClient, type Client, type ClientErrors } from '../../runtime/process/client-lease.ts';
import type { ClientPool } from '../../runtime/process/client-pool.ts';
import type { ListBucket } from './bucket-listing.ts';
import { SourceError, type OpenSource } from './source.ts';

const opened = z.object({ consumed: z.boolean() });
const eventPage = z.array(z.object({ id: z.string(), payload: z.string().optional() })).nullable();
const failures = z.array(z.tuple([z.string(), z.string()]));
const objectPage = z
  .array(z.object({ key: z.string(), etag: z.string(), modified: z.string(), size: z.number() }))
  .nullable();

const errors: ClientErrors = {
  refusal: 'SourceError',
  refused: (message) => new SourceError(message),
  ended: (reason) => new SourceError(`Reading stopped: ${reason}.`),
};

/** A call of a reading, which the signal ends. */
async function readOnce<Result>(
  client: Client,
  method: string,
  result: z.ZodType<Result>,
  signal: AbortSignal,
): Promise<Result> {
  try {
    return await client.call(method, {}, result, signal);
  } catch (error) {
    throw signal.aborted ? new SourceError('Reading the source took too long.') : error;
  }
}

/** Sources that client processes read (decision 0037), so that a hostile server ends one of those at most. */
export function createRemoteSource(clients: ClientPool): OpenSource {
  return async (request) => {
    const first = { method: 'openSource', parameters: request, result: opened };
    const { client, result } = await openClient(clients, request.project, errors, first);
    const { consumed } = result;
    return {
      async *read(signal) {
        await client.call('read', {}, z.unknown());
        let running = true;
        try {
          for (;;) {
            running = false;
            const page = await readOnce(client, 'nextPage', eventPage, signal);
            if (!page) return;
            running = true;
            yield page.map(({ id, payload }): SourceEvent => ({ id, payload }));
          }
        } finally {
          // A reader that stops early leaves the rest to the next reading.
          if (running) await client.call('stopReading', {}, z.unknown()).catch(() => undefined);
        }
      },
      async confirm(events) {
        await client.call('confirm', { count: events.length }, z.unknown());
      },
      async markDone(ids) {
        return new Map(await client.call('markDone', { ids }, failures));
      },
      ...(consumed && { consumed }),
      close: () => client.close('closeSource'),
    };
  };
}

/** Listings that client processes read. */
export function createRemoteListing(clients: ClientPool): ListBucket {
  return async function* (target, signal) {
    const first = { method: 'openListing', parameters: target, result: z.unknown() };
    const { client } = await openClient(clients, target.project, errors, first);
    try {
      for (;;) {
        const page = await readOnce(client, 'nextObjects', objectPage, signal);
        if (!page) return;
        yield page;
      }
    } finally {
      await client.close('closeListing');
    }
  };
}
