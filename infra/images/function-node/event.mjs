/** Bodies above this are refused with 413. */
const bodyMaxBytes = 32 * 1024 * 1024;
/** How long a client whose request was refused may go on sending it. */
const discardMaxMs = 10_000;

/** A refusal of the request itself; the handler is not called. */
export class RequestError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The id that the caller gave, or a new one. */
export function requestIdOf(headers) {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : crypto.randomUUID();
}

async function readBody(request) {
  const tooLarge = () => new RequestError(413, 'body_too_large', `a body has at most ${bodyMaxBytes} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > bodyMaxBytes) throw tooLarge();
  const chunks = [];
  let size = 0;
  // Leaving an ordinary loop early would destroy the connection, and the refusal with it.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += chunk.length;
    if (size > bodyMaxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * The event of a request: its body, parsed for a JSON content type, a string for text and forms, bytes otherwise, and
 * null when there is none. @throws RequestError when the body is too large or not the JSON that it says
 */
export async function readEvent(request) {
  const body = await readBody(request);
  if (body.length === 0) return null;
  const type = (request.headers['content-type'] ?? '').split(';', 1)[0].trim().toLowerCase();
  if (type === 'application/json' || type.endsWith('+json')) {
    try {
      return JSON.parse(body.toString('utf8'));
    } catch {
      throw new RequestError(400, 'invalid_json', 'the body is not the JSON that its content type says');
    }
  }
  if (type.startsWith('text/') || type === 'application/x-www-form-urlencoded') return body.toString('utf8');
  return body;
}

/** Reads on without keeping anything, so that a client which writes before it reads gets to its answer. */
export function discardRest(request) {
  if (request.complete) return;
  const limit = setTimeout(() => request.destroy(), discardMaxMs).unref();
  request.once('close', () => clearTimeout(limit));
  request.resume();
}

/** A parameter that is given several times becomes an array. */
function queryOf(search) {
  const query = new Map();
  for (const [name, value] of new URLSearchParams(search)) {
    query.set(name, query.has(name) ? [query.get(name), value].flat() : value);
  }
  return Object.fromEntries(query);
}

/** What the handler gets beside the event (spec: method, headers and path). The path is as it was sent, undecoded. */
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
