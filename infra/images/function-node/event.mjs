/** Larger bodies are refused with 413. */
const bodyMaxBytes = 32 * 1024 * 1024;
/** How long the body of a refused request is read before the connection is closed. */
const discardMaxMs = 10_000;

/** An invalid request. The handler is not called. */
export class RequestError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The caller's request id, or a new one. */
export function requestIdOf(headers) {
  const header = headers['x-request-id'];
  return typeof header === 'string' && /^[\w.:-]{1,128}$/.test(header) ? header : crypto.randomUUID();
}

async function readBody(request) {
  const tooLarge = () =>
    new RequestError(413, 'body_too_large', `the body is larger than the limit of ${bodyMaxBytes} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > bodyMaxBytes) throw tooLarge();
  const chunks = [];
  let size = 0;
  // By default, leaving the loop early would destroy the connection before the error response is sent.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += chunk.length;
    if (size > bodyMaxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * The event of a request: its body, parsed for a JSON content type, a string for text and forms, bytes otherwise, and
 * null without a body. @throws RequestError when the body is too large, or is not valid JSON despite its content type
 */
export async function readEvent(request) {
  const body = await readBody(request);
  if (body.length === 0) return null;
  const type = (request.headers['content-type'] ?? '').split(';', 1)[0].trim().toLowerCase();
  if (type === 'application/json' || type.endsWith('+json')) {
    try {
      return JSON.parse(body.toString('utf8'));
    } catch {
      throw new RequestError(400, 'invalid_json', 'the body is not valid JSON, but its content type is JSON');
    }
  }
  if (type.startsWith('text/') || type === 'application/x-www-form-urlencoded') return body.toString('utf8');
  return body;
}

/** Reads and discards the rest, so that a client that sends everything before it reads gets its response. */
export function discardRest(request) {
  if (request.complete) return;
  const limit = setTimeout(() => request.destroy(), discardMaxMs).unref();
  request.once('close', () => clearTimeout(limit));
  request.resume();
}

/** A repeated parameter becomes an array. */
function queryOf(search) {
  const query = new Map();
  for (const [name, value] of new URLSearchParams(search)) {
    query.set(name, query.has(name) ? [query.get(name), value].flat() : value);
  }
  return Object.fromEntries(query);
}

/** The second argument of the handler. The path is not decoded. */
export function contextOf(request, requestId, signal) {
  const { url, method, headers } = request;
  const end = url.indexOf('?');
  return {
    method,
    path: end < 0 ? url : url.slice(0, end),
    query: end < 0 ? {} : queryOf(url.slice(end + 1)),
    headers,
    requestId,
    signal,
  };
}
