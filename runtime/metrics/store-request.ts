import type { z } from 'zod';
import { readBytes } from '../domain/read-bytes.ts';
import { MetricsUnavailable } from './metrics-store.ts';

/** What a store may take of this process. */
export interface RequestLimits {
  /** Milliseconds until the answer is complete. */
  timeoutMs: number;
  /** Bytes of the answer. */
  bytesMax: number;
}

const defaults: RequestLimits = { timeoutMs: 10_000, bytesMax: 8 * 1024 * 1024 };

/**
 * Sends a request to a metrics store and reads its JSON answer, with limits of time and size. Redirects are not followed.
 * @param schema the form of the answer
 * @throws MetricsUnavailable with a message for people; the reason of the signal when that is aborted
 */
export async function requestJson<T>(
  url: string,
  schema: z.ZodType<T>,
  options: { body: URLSearchParams | string; headers?: Record<string, string>; limits?: RequestLimits },
  signal?: AbortSignal,
): Promise<T> {
  const { body, headers = {}, limits: { timeoutMs, bytesMax } = defaults } = options;
  const timeout = AbortSignal.timeout(timeoutMs);
  let text: string;
  try {
    const response = await fetch(url, {
      method: 'POST',
      body,
      headers,
      redirect: 'error',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    if (!response.ok) {
      await response.body?.cancel();
      if (response.status === 503) throw new MetricsUnavailable('The metrics store is disabled or starting.');
      throw new MetricsUnavailable(`The metrics store refused the query with status ${response.status}.`);
    }
    text = (await readBytes(response.body, bytesMax, tooLarge)).toString('utf8');
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof MetricsUnavailable) throw error;
    const reason = timeout.aborted ? `did not answer within ${timeoutMs / 1000} seconds` : 'cannot be reached';
    throw new MetricsUnavailable(`The metrics store ${reason}.`, { cause: error });
  }
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    throw new MetricsUnavailable('The metrics store sent an answer in an unknown form.', { cause: error });
  }
}

function tooLarge(): MetricsUnavailable {
  return new MetricsUnavailable('The metrics store sent too large an answer.');
}
