import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ApiError, badRequest } from './api-error.ts';
import type { User } from './user.ts';

/** Larger bodies are refused. In the real server, etcd limits objects to 1.5 MiB. */
const bodyMax = 3 * 1024 * 1024;

/** The connection of a request that asks for another protocol. */
export interface Upgrade {
  socket: Duplex;
  head: Buffer;
}

/** One request and its response. */
export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  /** The connection of a request that asks for another protocol. */
  upgrade?: Upgrade | undefined;
  method: string;
  path: string;
  query: URLSearchParams;
  user: User;
}

/** Whether a query parameter is set to true. */
export function flag(query: URLSearchParams, name: string): boolean {
  return ['true', '1'].includes(query.get(name) ?? '');
}

/** Reads a JSON body; undefined when it is empty. @throws ApiError 400, 413, 415 */
export async function readJson(request: IncomingMessage, accepted = 'application/json'): Promise<unknown> {
  const body = await readBody(request);
  if (body.length === 0) return undefined;
  const type = (request.headers['content-type'] ?? accepted).split(';')[0]?.trim() ?? '';
  if (type !== accepted) {
    const message = `the body of the request was in an unknown format - accepted media types include: ${accepted}`;
    throw new ApiError(415, 'UnsupportedMediaType', message);
  }
  try {
    return JSON.parse(body.toString()) as unknown;
  } catch (error) {
    throw badRequest(`the body is not JSON: ${String(error)}`);
  }
}

/** Reads a body to its end. What is more than {@link bodyMax} stays unread, for the caller to discard. */
function readBody(request: IncomingMessage): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  const stop = () => request.off('data', onData).off('end', onEnd).off('error', onBreak).off('close', onBreak);
  const onData = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= bodyMax) {
      chunks.push(chunk);
      return;
    }
    stop();
    reject(new ApiError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${bodyMax}`));
  };
  const onEnd = () => {
    stop();
    resolve(Buffer.concat(chunks));
  };
  const onBreak = () => {
    stop();
    reject(badRequest('the connection ended before the body'));
  };
  request.on('data', onData).on('end', onEnd).on('error', onBreak).on('close', onBreak);
  return promise;
}

/** Sends a JSON response. A string is sent unchanged. */
export function sendJson({ response }: Pick<Exchange, 'response'>, code: number, body: unknown): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(code, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-cache, private',
  });
  response.end(text);
}

/** Sends an error. A response that has begun is cut off. */
export function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const reason = error instanceof Error ? error.message : String(error);
  const apiError =
    error instanceof ApiError ? error : new ApiError(500, 'InternalError', `Internal error occurred: ${reason}`);
  sendJson({ response }, apiError.status.code ?? 500, apiError.status);
}
