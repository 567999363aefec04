import { RequestError } from './event.mjs';

const events = process.getBuiltinModule('node:events');

const answerFields = new Set(['statusCode', 'headers', 'body']);

/** Whether a value is a response: it has a status code, or only these fields. Other objects with a `body` are data. */
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

/** The status is sent with the first chunk, so that a stream that fails before it still becomes a 500. */
async function sendStream(response, body, signal) {
  const source =
    typeof body.getReader === 'function' ? process.getBuiltinModule('node:stream').Readable.fromWeb(body) : body;
  // A source that is waiting for its next chunk would not notice that the client has disconnected.
  const stop = () => source.destroy?.();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  for await (const chunk of source) {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) {
      throw new TypeError('the handler returned a stream whose chunks are not strings or bytes');
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
    throw new TypeError(
      `the handler returned the status code ${String(statusCode)}, which is not in the range 200 to 599`,
    );
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

/** Responds to an invalid request or a failed handler. The stack trace is only logged. */
export function failure(response, error, requestId, log) {
  const refused = error instanceof RequestError;
  if (!refused) log('error', 'the handler failed', { error: String(error?.stack ?? error) });
  if (response.headersSent) {
    // The status has been sent: only a broken connection can show that the body is incomplete.
    response.destroy();
    return;
  }
  for (const name of response.getHeaderNames()) if (name !== 'x-request-id') response.removeHeader(name);
  // The log's request id, even if the handler set another one.
  response.setHeader('x-request-id', requestId);
  const body = refused
    ? { code: error.code, message: error.message, requestId }
    : {
        code: 'function_error',
        message: 'The function failed. Find the reason in its log by this request id.',
        requestId,
      };
  response.statusCode = refused ? error.status : 500;
  response.setHeader('content-type', 'application/json');
  response.end(`${JSON.stringify(body)}\n`);
}
