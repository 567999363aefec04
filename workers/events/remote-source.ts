import { z } from 'zod';
import type { SourceEvent } from '../../runtime/domain/events.ts';
import { CallError, ClientEndedError } from '../../runtime/process/client-process.ts';
import type { ClientLease, ClientPool } from '../../runtime/process/client-pool.ts';
import type { ListBucket } from './bucket-listing.ts';
import { SourceError, type OpenSource } from './source.ts';

const opened = z.object({ consumed: z.boolean() });
const eventPage = z.array(z.object({ id: z.string(), payload: z.string().optional() })).nullable();
const failures = z.array(z.tuple([z.string(), z.string()]));
const objectPage = z
  .array(z.object({ key: z.string(), etag: z.string(), modified: z.string(), size: z.number() }))
  .nullable();

/** How long a source may take to close its connection. */
const closeMs = 2_000;

/** Sources that client processes read (decision 0037), so that a hostile server ends one of those at most. */
export function createRemoteSource(clients: ClientPool): OpenSource {
  return async (request) => {
    const calls = await leaseCalls(clients, request.namespace);
    const { consumed } = await calls.first('openSource', request, opened);
    return {
      async *read(signal) {
        await calls.call('read', {}, z.unknown(), signal);
        let running = true;
        try {
          for (;;) {
            running = false;
            const page = await calls.call('nextPage', {}, eventPage, signal);
            if (!page) return;
            running = true;
            yield page.map(({ id, payload }): SourceEvent => ({ id, payload }));
          }
        } finally {
          // A reader that stops early leaves the rest to the next reading.
          if (running) await calls.call('stopReading', {}, z.unknown()).catch(() => undefined);
        }
      },
      async confirm(events) {
        await calls.call('confirm', { count: events.length }, z.unknown());
      },
      async markDone(ids) {
        return new Map(await calls.call('markDone', { ids }, failures));
      },
      ...(consumed && { consumed }),
      close: () => calls.close('closeSource'),
    };
  };
}

/** Listings that client processes read. */
export function createRemoteListing(clients: ClientPool): ListBucket {
  return async function* (target, signal) {
    const calls = await leaseCalls(clients, target.namespace);
    await calls.first('openListing', target, z.unknown());
    try {
      for (;;) {
        const page = await calls.call('nextObjects', {}, objectPage, signal);
        if (!page) return;
        yield page;
      }
    } finally {
      await calls.close('closeListing');
    }
  };
}

/** Calls of one lease; a process in which something unexpected happened is not used again. */
async function leaseCalls(clients: ClientPool, owner: string) {
  const lease: ClientLease = await clients.lease(owner);
  let failed = false;
  const call = async <Result>(method: string, parameters: object, result: z.ZodType<Result>, signal?: AbortSignal) => {
    try {
      return result.parse(await lease.call(method, parameters, signal));
    } catch (error) {
      failed ||= !isRefusal(error);
      throw toSourceError(error, signal);
    }
  };
  return {
    call,
    /** The first call of a lease, which is returned where the call fails. */
    first: async <Result>(method: string, parameters: object, result: z.ZodType<Result>): Promise<Result> => {
      try {
        return await call(method, parameters, result);
      } catch (error) {
        lease.release(!failed);
        throw error;
      }
    },
    close: async (method: string): Promise<void> => {
      if (!failed) await call(method, {}, z.unknown(), AbortSignal.timeout(closeMs)).catch(() => undefined);
      lease.release(!failed);
    },
  };
}

/** Whether a source reported why it cannot be read. */
function isRefusal(error: unknown): error is CallError {
  return error instanceof CallError && error.name === 'SourceError';
}

function toSourceError(error: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return new SourceError('Reading the source took too long.');
  if (error instanceof ClientEndedError) return new SourceError(`Reading stopped: ${error.message}.`);
  if (isRefusal(error)) return new SourceError(error.message);
  // What a client or this schema does not expect is the server's doing, too.
  if (error instanceof CallError || error instanceof z.ZodError) {
    return new SourceError('Reading stopped: the server sent something that cannot be read.');
  }
  return error;
}
