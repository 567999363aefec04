import { z } from 'zod';
import { CallError, ClientEndedError } from './client-process.ts';
import type { ClientPool } from './client-pool.ts';

/** How the errors of a client become those of its caller. */
export interface ClientErrors {
  /** The name of the errors with which the program reports why a server cannot be used. */
  refusal: string;
  /** @param message of such an error */
  refused: (message: string) => Error;
  /** @param reason what the server did that ended the process */
  ended: (reason: string) => Error;
}

/** A client process for one server. */
export interface Client {
  /** @throws the caller's error, or the signal's reason */
  call<Result>(method: string, parameters: object, result: z.ZodType<Result>, signal?: AbortSignal): Promise<Result>;
  /** Calls a method that closes the connection, and returns the process; never rejects. */
  close(method: string): Promise<void>;
}

/** How long a client may take to close its connection. */
const closeMs = 2_000;

/**
 * Leases a process and makes the first call, which opens the connection. A process in which something unexpected happened
 * is not used again. @throws NoClientError, and what `call` throws
 */
export async function openClient<Result>(
  clients: ClientPool,
  owner: string,
  errors: ClientErrors,
  first: { method: string; parameters: object; result: z.ZodType<Result> },
): Promise<{ client: Client; result: Result }> {
  const lease = await clients.lease(owner);
  let failed = false;
  const isRefusal = (error: unknown) => error instanceof CallError && error.name === errors.refusal;
  const toCallersError = (error: unknown): unknown => {
    if (error instanceof CallError && isRefusal(error)) return errors.refused(error.message);
    if (error instanceof ClientEndedError) return errors.ended(error.message);
    // What a client or the schema of a result does not expect is the server's doing, too.
    if (error instanceof CallError || error instanceof z.ZodError) {
      return errors.ended('the server sent something that cannot be read');
    }
    return error;
  };
  const client: Client = {
    async call(method, parameters, result, signal) {
      try {
        return result.parse(await lease.call(method, parameters, signal));
      } catch (error) {
        failed ||= !isRefusal(error);
        signal?.throwIfAborted();
        throw toCallersError(error);
      }
    },
    async close(method) {
      if (!failed) await client.call(method, {}, z.unknown(), AbortSignal.timeout(closeMs)).catch(() => undefined);
      lease.release(!failed);
    },
  };
  try {
    return { client, result: await client.call(first.method, first.parameters, first.result) };
  } catch (error) {
    lease.release(!failed);
    throw error;
  }
}
