import { STATUS_CODES } from 'node:http';
import { request, type Dispatcher } from 'undici';
import type { Credentials } from './credentials.ts';
import { KubeError, namespaceTerminating } from './kube-client.ts';
import type { RequestMetrics } from './request-metrics.ts';

/** A call without an answer after this long has failed. For a watch it holds until the answer begins. */
const callTimeoutMs = 30_000;

/** Query parameters; undefined ones are left out. */
export type Query = Readonly<Record<string, string | number | undefined>>;

interface Call {
  query?: Query;
  body?: object;
  /** Default `application/json`. */
  contentType?: string;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** HTTP with the API server: every answer but a success becomes a {@link KubeError}. */
export interface Transport {
  json(method: Method, path: string, call?: Call): Promise<unknown>;
  /** A GET whose answer never times out once it has begun. */
  stream(path: string, signal: AbortSignal, query: Query): Promise<AsyncIterable<Uint8Array>>;
}

/** The error that a `Status` object or another body of an answer tells of. */
export function kubeErrorOf(httpStatus: number, body: unknown): KubeError {
  const { code, reason, message, details } = (typeof body === 'object' && body !== null ? body : {}) as {
    code?: number;
    reason?: string;
    message?: string;
    details?: { causes?: { reason?: string }[] };
  };
  const status = code ?? httpStatus;
  const phrase = STATUS_CODES[status] ?? 'Unknown';
  // A 403 like any other by its own reason, and the one that will never be anybody's fault.
  const terminating = details?.causes?.find((cause) => cause.reason === namespaceTerminating)?.reason;
  const named = terminating ?? reason ?? phrase.replaceAll(/[^A-Za-z]/g, '');
  return new KubeError(status, named, message ?? `${status} ${phrase}`);
}

export function createTransport(credentials: Credentials, metrics?: RequestMetrics): Transport {
  const attempt = async (method: Method, path: string, signal: AbortSignal, call: Call) => {
    try {
      const response = await exchange(method, path, signal, call);
      metrics?.count(method, path, response.statusCode);
      return response;
    } catch (error) {
      metrics?.count(method, path, 0);
      throw error;
    }
  };

  const exchange = async (method: Method, path: string, signal: AbortSignal, { query, body, contentType }: Call) => {
    const { server, headers, dispatcher } = await credentials.access();
    const url = new URL(server + path);
    for (const [name, value] of Object.entries(query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    return request(url, {
      method,
      dispatcher,
      signal,
      headers: {
        ...headers,
        accept: 'application/json',
        'user-agent': 'svc',
        ...(body && { 'content-type': contentType ?? 'application/json' }),
      },
      body: body ? JSON.stringify(body) : null,
      // Else the connection ends with every DELETE that has a body, and the next call waits for a new one.
      reset: false,
    });
  };

  const send = async (
    method: Method,
    path: string,
    signal: AbortSignal,
    call: Call,
  ): Promise<Dispatcher.ResponseData> => {
    let response: Dispatcher.ResponseData;
    try {
      response = await attempt(method, path, signal, call);
    } catch (error) {
      // The API server may close a kept connection while a request is on its way; only reading is safe to repeat.
      if (method !== 'GET' || !isClosedConnection(error)) throw error;
      response = await attempt(method, path, signal, call);
    }
    if (response.statusCode === 401) {
      credentials.expire();
      await response.body.dump();
      response = await attempt(method, path, signal, call);
    }
    if (response.statusCode < 300) return response;
    throw kubeErrorOf(response.statusCode, parsed(await response.body.text()));
  };

  return {
    async json(method, path, call = {}) {
      const response = await send(method, path, AbortSignal.timeout(callTimeoutMs), call);
      return response.body.json();
    },
    async stream(path, signal, query) {
      const opening = new AbortController();
      const timer = setTimeout(
        () => opening.abort(new DOMException('the watch did not begin in time', 'TimeoutError')),
        callTimeoutMs,
      );
      try {
        const response = await send('GET', path, AbortSignal.any([signal, opening.signal]), { query });
        return response.body;
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

function isClosedConnection(error: unknown): boolean {
  const code = (error as { code?: string }).code;
  return code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE';
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
