import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { RequestError } from './event.mjs';

const isStream = (body) =>
  typeof body?.pipe === 'function' ||
  typeof body?.getReader === 'function' ||
  typeof body?.[Symbol.asyncIterator] === 'function';

function isAnswer(result) {
  return result !== null && typeof result === 'object' && ('statusCode' in result || 'body' in result);
}

function send(response, body, contentType) {
  if (contentType && !response.hasHeader('content-type')) response.setHeader('content-type', contentType);
  response.end(body);
}

/**
 * Sends what a handler returned: `{statusCode, headers, body}`; or nothing (204), a string (200, text) or any other
 * value (200, JSON). A body is a string, bytes, a stream, or a value that is sent as JSON.
 */
export async function answer(response, result) {
  if (result === undefined || result === null) {
    response.statusCode = 204;
    response.end();
    return;
  }
  const { statusCode = 200, headers = {}, body } = isAnswer(result) ? result : { body: result };
  if (!Number.isInteger(statusCode) || statusCode < 200 || statusCode > 599) {
    throw new TypeError(`the handler returned the status code ${String(statusCode)}, which is not one of 200 to 599`);
  }
  response.statusCode = statusCode;
  for (const [name, value] of Object.entries(headers)) {
    response.setHeader(name, Array.isArray(value) ? value.map(String) : String(value));
  }
  if (body === undefined || body === null) send(response);
  else if (typeof body === 'string') send(response, body, 'text/plain; charset=utf-8');
  else if (body instanceof Uint8Array) send(response, body, 'application/octet-stream');
  else if (isStream(body)) await pipeline(Readable.from(body), response);
  else send(response, JSON.stringify(body), 'application/json');
}

/** Answers for a request that was refused or a handler that threw; its stack stands in the log only. */
export function failure(response, error, requestId, log) {
  const refused = error instanceof RequestError;
  if (!refused) log('error', 'the handler failed', { error: String(error?.stack ?? error) });
  if (response.headersSent) {
    // The status is out already: a broken connection is the only way left to say that the body is not whole.
    response.destroy();
    return;
  }
  for (const name of response.getHeaderNames()) if (name !== 'x-request-id') response.removeHeader(name);
  const body = refused
    ? { code: error.code, message: error.message, requestId }
    : {
        code: 'function_error',
        message: 'the function failed; its log has the reason under this request id',
        requestId,
      };
  response.statusCode = refused ? error.status : 500;
  response.setHeader('content-type', 'application/json');
  if (refused) response.setHeader('connection', 'close');
  response.end(`${JSON.stringify(body)}\n`);
}
