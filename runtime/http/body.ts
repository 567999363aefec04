import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { Problem } from '../domain/problem.ts';

/** Largest request body, in bytes. */
const bodyLimit = 1024 * 1024;
/** Bytes that are read and discarded, so that a client that is still sending receives the error response. */
const discardLimit = 8 * bodyLimit;

/**
 * Reads a request's body to its end.
 * @throws Problem `body_too_large` beyond {@link bodyLimit}, `unsupported_media_type` for a compressed body
 */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new Problem('unsupported_media_type', 'Send the body uncompressed.');
  }
  const chunks: Buffer[] = [];
  let size = 0;
  // Destroying the request would close its socket before the response is sent.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > discardLimit) break;
    if (size <= bodyLimit) chunks.push(chunk);
  }
  if (size > bodyLimit)
    throw new Problem('body_too_large', `The request body exceeds the limit of ${bodyLimit} bytes.`);
  return Buffer.concat(chunks, size);
}

/** Deeper than any request of the API and of git hosts. */
const depthLimit = 64;

/** Whether JSON text nests arrays and objects deeper than `limit`; brackets in strings do not count. */
function isTooDeep(json: Buffer, limit: number): boolean {
  let depth = 0;
  let quoted = false;
  for (let index = 0; index < json.length; index++) {
    const byte = json[index];
    if (quoted) {
      if (byte === 0x5c) index++;
      else if (byte === 0x22) quoted = false;
    } else if (byte === 0x22) quoted = true;
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > limit) return true;
    } else if (byte === 0x7d || byte === 0x5d) depth--;
  }
  return false;
}

/**
 * Parses and validates a JSON body. An empty body counts as `{}`.
 * @throws Problem `unsupported_media_type`, `invalid_json`, `invalid_request`
 */
export function parseJson<Schema extends z.ZodType>(
  schema: Schema,
  body: Buffer,
  contentType: string | undefined,
): z.output<Schema> {
  if (body.length === 0) return parseShape(schema, {}, 'body');
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type !== 'application/json' && !/^application\/[a-z0-9.-]+\+json$/.test(type)) {
    throw new Problem('unsupported_media_type', 'Send the body as JSON, with Content-Type: application/json.');
  }
  return parseShape(schema, jsonOf(body), 'body');
}

/** Parses JSON in UTF-8 that is nested up to 64 levels deep. @throws Problem `invalid_json` */
export function jsonOf(body: Buffer): unknown {
  if (isTooDeep(body, depthLimit)) {
    throw new Problem('invalid_json', `The body exceeds the limit of ${depthLimit} nested levels.`);
  }
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    // The parser's message quotes the body, which may contain a secret.
    throw new Problem('invalid_json', 'The body is not valid JSON in UTF-8.');
  }
}

/**
 * Validates a part of a request. Messages contain paths and rules, but not the value.
 * @throws Problem `invalid_request` with `details.issues`
 */
export function parseShape<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  source: 'params' | 'query' | 'body',
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues
    .slice(0, 20)
    .map(({ path, message }) => ({ path: [source, ...path.map(String)].join('.'), message }));
  const first = issues[0];
  throw new Problem('invalid_request', `The request is not valid: ${first?.path}: ${first?.message}.`, {
    details: { issues },
  });
}
