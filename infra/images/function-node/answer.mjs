import { RequestError } from './event.mjs';

const events = process.getBuiltinModule('node:events');

const answerFields = new Set(['statusCode', 'headers', 'body']);

/** A record that happens to have a field `body` is data: an answer has a status code, or no other fields than these. */
function isAnswer(result) {
  if (result === null || typeof result !== 'object') return false;
  const fields = Object.keys(result);
  return 'statusCode' in result || (fields.length > 0 && fields.every((field) => answerFields.has(field)));
}

const isStream = (body) => typeof body?.getReader === 'function' || typeof body?.[Symbol.asyncIterator] === 'function';

function send(response, body, contentType) {
  if (contentType && !response.hasHeader('content-type')) response.setHeader('content-type', contentType);
  response.end(body);
}

/** The status goes out with the first chunk, so that a stream which fails before it is still a 500. */
async function sendStream(response, body, signal) {
  const source =
    typeof body.getReader === 'function' ? process.getBuiltinModule('node:stream').Readable.fromWeb(body) : body;
  // A source that is waiting for its next chunk would not notice that nobody wants it any more.
  const stop = () => source.destroy?.();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  for await (const chunk of source) {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) {
      throw new TypeError('the handler returned a stream of something else than strings and bytes');
    }
    if (!response.write(chunk)) await events.once(response, 'drain', { signal });
  }
  response.end();
}

/**
 * Sends what a handler returned: `{statusCode, headers, body}`; or nothing (204), a string (200, text), bytes or a
 * stream (200), or any other value (200, JSON). A body is a string, bytes, a stream, or a value that is sent as JSON.
 */
export async function answer(response, result, signal) {
  if (result === undefined || result === null) {
    response.statusCode = 204;
    response.end();
    return;
  }
  const { statusCode = 200, headers, body } = isAnswer(result) ? result : { body: result };
  if (!Number.isInteger(statusCode) || statusCode < 200 || statusCode > 599) {
    throw new TypeError(`the handler returned the status code ${String(statusCode)}, which is not one of 200 to 599`);
  }
  response.statusCode = statusCode;
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (value !== undefined) response.setHeader(name, Array.isArray(value) ? value.map(String) : String(value));
  }
  if (body === undefined || body === null) send(response);
  else if (typeof body === 'string') send(response, body, 'text/plain; charset=utf-8');
  else if (body instanceof Uint8Array) send(response, body, 'application/octet-stream');
  else if (isStream(body)) await sendStream(response, body, signal);
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
  // The id is that of the log, also where the handler had set another one.
  response.setHeader('x-request-id', requestId);
  const body = refused
    ? { code: error.code, message: error.message, requestId }
    : {
        code: 'function_error',
        message: 'the function failed; its log has the reason under this request id',
        requestId,
      };
  response.statusCode = refused ? error.status : 500;
  response.setHeader('content-type', 'application/json');
  response.end(`${JSON.stringify(body)}\n`);
}
