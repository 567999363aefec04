import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError, badRequest } from './api-error.ts';
import type { User } from './authentication.ts';
import type { Upgrade } from './pod-exec.ts';

/** Larger bodies are refused, as etcd's limit does it with the real server (1.5 MiB an object). */
const bodyMax = 3 * 1024 * 1024;

/** One request and its answer. */
export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  /** Of a request that asks to go on in another protocol. */
  upgrade?: Upgrade | undefined;
  method: string;
  path: string;
  query: URLSearchParams;
  user: User;
}

/** Whether a query says so. */
export function flag(query: URLSearchParams, name: string): boolean {
  return ['true', '1'].includes(query.get(name) ?? '');
}

/** Reads a JSON body; undefined for none. @throws ApiError 400, 413, 415 */
export async function readJson(request: IncomingMessage, accepted = 'application/json'): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > bodyMax) {
      throw new ApiError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${bodyMax}`);
    }
    chunks.push(chunk);
  }
  if (size === 0) return undefined;
  const type = (request.headers['content-type'] ?? accepted).split(';')[0]?.trim() ?? '';
  if (type !== accepted) {
    const message = `the body of the request was in an unknown format - accepted media types include: ${accepted}`;
    throw new ApiError(415, 'UnsupportedMediaType', message);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) as unknown;
  } catch (error) {
    throw badRequest(`the body is not JSON: ${String(error)}`);
  }
}

/** Ends an exchange with JSON; text is sent as it is. */
export function sendJson({ response }: Pick<Exchange, 'response'>, code: number, body: unknown): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(code, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-cache, private',
  });
  response.end(text);
}

/** Ends an exchange that failed. Once an answer has begun, it can only be cut off. */
export function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const why = error instanceof Error ? error.message : String(error);
  const refusal =
    error instanceof ApiError ? error : new ApiError(500, 'InternalError', `Internal error occurred: ${why}`);
  sendJson({ response }, refusal.status.code ?? 500, refusal.status);
}
