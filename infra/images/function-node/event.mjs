/** Bodies above this are refused with 413. */
const bodyMaxBytes = 32 * 1024 * 1024;

/** A refusal of the request itself; the handler is not called. */
export class RequestError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

async function readBody(request) {
  const tooLarge = () => new RequestError(413, 'body_too_large', `a body has at most ${bodyMaxBytes} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > bodyMaxBytes) throw tooLarge();
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > bodyMaxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * The event of a request: its body, parsed for a JSON content type, a string for text and forms, bytes otherwise, and
 * null when there is none.
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
