import { request as httpRequest, STATUS_CODES, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import type { Credentials } from './credentials.ts';
import { KubeError, namespaceTerminating } from './kube-client.ts';
import type { RequestMetrics } from './request-metrics.ts';

/** Time-out of a call; of a watch, until the response begins. */
const callTimeoutMs = 30_000;

/** Query parameters; undefined ones are omitted. */
export type Query = Readonly<Record<string, string | number | undefined>>;

interface Call {
  query?: Query;
  body?: object;
  /** Default `application/json`. */
  contentType?: string;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Sends HTTP requests to the API server. @throws KubeError for every response but a success */
export interface Transport {
  json(method: Method, path: string, call?: Call): Promise<unknown>;
  /** A GET without a time-out once the response has begun. */
  stream(path: string, signal: AbortSignal, query: Query): Promise<AsyncIterable<Uint8Array>>;
}

/** The error of a response, whose body may be a `Status` object. */
export function kubeErrorOf(httpStatus: number, body: unknown): KubeError {
  const { code, reason, message, details } = (typeof body === 'object' && body !== null ? body : {}) as {
    code?: number;
    reason?: string;
    message?: string;
    details?: { causes?: { reason?: string }[] };
  };
  const status = code ?? httpStatus;
  const phrase = STATUS_CODES[status] ?? 'Unknown';
  // The reason of a 403 in a terminating namespace is only in its causes.
  const terminating = details?.causes?.find((cause) => cause.reason === namespaceTerminating)?.reason;
  const errorReason = terminating ?? reason ?? phrase.replaceAll(/[^A-Za-z]/g, '');
  return new KubeError(status, errorReason, message ?? `${status} ${phrase}`);
}

export function createTransport(credentials: Credentials, metrics?: RequestMetrics): Transport {
  const exchange = async (method: Method, path: string, signal: AbortSignal, { query, body, contentType }: Call) => {
    const { server, headers, agent } = await credentials.access();
    const url = new URL(server + path);
    for (const [name, value] of Object.entries(query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const content = body && Buffer.from(JSON.stringify(body));
    return new Promise<IncomingMessage>((resolve, reject) => {
      const send = url.protocol === 'http:' ? httpRequest : httpsRequest;
      const options = {
        method,
        agent,
        signal,
        headers: {
          ...headers,
          accept: 'application/json',
          'user-agent': 'svc',
          // Node sets no length for a DELETE.
          ...(content && { 'content-type': contentType ?? 'application/json', 'content-length': content.length }),
        },
      };
      send(url, options, resolve)
        .on('error', (error) => reject(signal.aborted ? (signal.reason as Error) : error))
        .end(content);
    });
  };

  const attempt = async (method: Method, path: string, signal: AbortSignal, call: Call) => {
    try {
      const response = await exchange(method, path, signal, call);
      metrics?.count(method, path, response.statusCode ?? 0);
      return response;
    } catch (error) {
      metrics?.count(method, path, 0);
      throw error;
    }
  };

  const send = async (method: Method, path: string, signal: AbortSignal, call: Call): Promise<IncomingMessage> => {
    let response: IncomingMessage;
    try {
      response = await attempt(method, path, signal, call);
    } catch (error) {
      // The API server may close an idle connection when a request is sent on it. Only reads are safe to repeat.
      if (method !== 'GET' || !isClosedConnection(error)) throw error;
      response = await attempt(method, path, signal, call);
    }
    if (response.statusCode === 401) {
      credentials.expire();
      response.resume();
      response = await attempt(method, path, signal, call);
    }
    const { statusCode = 0 } = response;
    if (statusCode < 300) return response;
    throw kubeErrorOf(statusCode, parseJson(await readText(response, signal)));
  };

  return {
    async json(method, path, call = {}) {
      const signal = AbortSignal.timeout(callTimeoutMs);
      return JSON.parse(await readText(await send(method, path, signal, call), signal)) as unknown;
    },
    async stream(path, signal, query) {
      const opening = new AbortController();
      const timer = setTimeout(
        () => opening.abort(new DOMException('the watch did not begin in time', 'TimeoutError')),
        callTimeoutMs,
      );
      try {
        return readChunks(await send('GET', path, AbortSignal.any([signal, opening.signal]), { query }), signal);
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

async function* readChunks(response: IncomingMessage, signal: AbortSignal): AsyncIterable<Uint8Array> {
  try {
    yield* response as AsyncIterable<Uint8Array>;
  } catch (error) {
    // An aborted response only reports a closed connection.
    throw signal.aborted ? signal.reason : error;
  }
}

function readText(response: IncomingMessage, signal: AbortSignal): Promise<string> {
  return text(readChunks(response, signal));
}

function isClosedConnection(error: unknown): boolean {
  const code = (error as { code?: string }).code;
  return code === 'ECONNRESET' || code === 'EPIPE';
}

function parseJson(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}
