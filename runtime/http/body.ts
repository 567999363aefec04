import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { Problem } from '../domain/problem.ts';
import type { BodyPlace } from './body-memory.ts';
import { issueText, rule, type RequestPart } from '../contracts/issue-text.ts';

/** Largest request body of a route that names no limit, in bytes. */
export const defaultBodyLimit = 64 * 1024;
/** Largest request body of routes that take code, many variables or a git host's events, in bytes. */
export const largeBodyLimit = 1024 * 1024;

/**
 * Reads a request's body to its end. Its bytes stay counted in `place` until that is freed. What is refused is discarded or
 * left (body-discard.ts): if the request is paused afterwards, the response must close the connection.
 * @throws Problem `body_too_large` beyond `limit` bytes, `unsupported_media_type` for a compressed body, `request_timeout`,
 * and what `place` refuses
 */
export async function readBody(request: IncomingMessage, place: BodyPlace, limit = defaultBodyLimit): Promise<Buffer> {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    place.discards.discard(request);
    throw new Problem('unsupported_media_type', 'Send the body uncompressed.');
  }
  const tooLarge = () => new Problem('body_too_large', `The request body exceeds the limit of ${limit} bytes.`);
  if (Number(request.headers['content-length'] ?? 0) > limit) {
    place.discards.discard(request);
    throw tooLarge();
  }
  return new Promise((resolve, reject) => {
    let buffer: Buffer = Buffer.alloc(0);
    let size = 0;
    const end = () => {
      request.off('data', onData).off('end', onEnd).off('error', onBreak).off('close', onBreak);
      place.arrived();
    };
    const refuse = (problem: Problem, rest: 'discard' | 'leave' = 'leave') => {
      end();
      place.free();
      buffer = Buffer.alloc(0);
      place.discards[rest](request);
      reject(problem);
    };
    /** Copies the chunk: kept as they come, chunks of a few bytes would take a hundred times their size. */
    const append = (chunk: Buffer) => {
      const needed = size + chunk.length;
      if (needed <= buffer.length) {
        chunk.copy(buffer, size);
        return;
      }
      // A body that arrives in one piece is not copied.
      const capacity = size === 0 ? chunk.length : Math.min(limit, Math.max(needed, 2 * buffer.length, 4096));
      place.take(capacity - buffer.length);
      const grown = size === 0 ? chunk : Buffer.allocUnsafeSlow(capacity);
      if (size > 0) {
        buffer.copy(grown, 0, 0, size);
        chunk.copy(grown, size);
      }
      buffer = grown;
    };
    const onData = (chunk: Buffer) => {
      if (size + chunk.length > limit) {
        refuse(tooLarge(), 'discard');
        return;
      }
      try {
        append(chunk);
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        refuse(error);
        return;
      }
      size += chunk.length;
    };
    const onEnd = () => {
      end();
      resolve(buffer.subarray(0, size));
    };
    const onBreak = () => refuse(new Problem('invalid_request', 'The connection ended before the request body.'));
    place.arriving(refuse);
    request.on('data', onData).on('end', onEnd).on('error', onBreak).on('close', onBreak);
  });
}

/** Deeper than any request of the API and of git hosts. */
const depthLimit = 64;
/** More values than a push of a thousand commits has. In memory, an empty object takes twenty times its text. */
const valuesLimit = 100_000;
const nulEscape = Buffer.from('\\u0000');

/** A string this long is skipped by a search, which is far faster for long strings and slower for short ones. */
const longString = 64;

/** The limit that a JSON text exceeds; brackets in strings do not count. */
function excessOf(json: Buffer): string | undefined {
  let depth = 0;
  let values = 1;
  let quoted = false;
  /** Bytes of the string since it began or had an escape. */
  let plain = 0;
  const [quote, backslash] = [finderOf(json, 0x22), finderOf(json, 0x5c)];
  for (let index = 0; index < json.length; index++) {
    const byte = json[index];
    if (quoted) {
      if (byte === 0x22) quoted = false;
      else if (byte === 0x5c) {
        index++;
        plain = 0;
      } else if (++plain % longString === 0) index = Math.min(quote(index), backslash(index)) - 1;
    } else if (byte === 0x22) {
      quoted = true;
      plain = 0;
    } else if (byte === 0x2c) values++;
    else if (byte === 0x7b || byte === 0x5b) {
      values++;
      if (++depth > depthLimit) return `${depthLimit} nested levels`;
    } else if (byte === 0x7d || byte === 0x5d) depth--;
  }
  return values > valuesLimit ? `${valuesLimit} values` : undefined;
}

/** Finds the next place of a byte, or the end; reads no part twice when it is asked from increasing places. */
function finderOf(bytes: Buffer, byte: number): (from: number) => number {
  let next = -1;
  return (from) => {
    if (next < from) {
      const at = bytes.indexOf(byte, from);
      next = at < 0 ? bytes.length : at;
    }
    return next;
  };
}

/** Whether a string in a JSON text contains a NUL character. JSON has one spelling of it. */
function containsNul(json: Buffer): boolean {
  for (let at = json.indexOf(nulEscape); at >= 0; at = json.indexOf(nulEscape, at + 1)) {
    let backslashes = 1;
    while (json[at - backslashes] === 0x5c) backslashes++;
    // An even number of backslashes stands for themselves.
    if (backslashes % 2 === 1) return true;
  }
  return false;
}

/** The refusal of a NUL character, which neither PostgreSQL nor a program's arguments can hold. */
function nulProblem(place: 'params' | 'query' | 'body'): Problem {
  const message = 'contains a NUL character';
  return new Problem('invalid_request', `The request is not valid: ${place}: ${message}.`, {
    details: { issues: [{ path: place, message }] },
  });
}

/** The fields of a path or a query, as they are. @throws Problem `invalid_request` for a NUL character */
export function refuseNul<Fields extends NodeJS.Dict<string | string[]>>(
  fields: Fields,
  place: 'params' | 'query',
): Fields {
  const texts = Object.entries(fields).flat(2);
  if (texts.some((text) => text?.includes('\0'))) throw nulProblem(place);
  return fields;
}

/**
 * Parses and validates a JSON body. An empty body counts as `{}`.
 * @param options.allowNul whether texts may contain NUL characters; default no
 * @throws Problem `unsupported_media_type`, `invalid_json`, `invalid_request`
 */
export function parseJson<Schema extends z.ZodType>(
  schema: Schema,
  body: Buffer,
  contentType: string | undefined,
  { allowNul = false }: { allowNul?: boolean } = {},
): z.output<Schema> {
  if (body.length === 0) return parseShape(schema, {}, 'body');
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type !== 'application/json' && !/^application\/[a-z0-9.-]+\+json$/.test(type)) {
    throw new Problem('unsupported_media_type', 'Send the body as JSON, with Content-Type: application/json.');
  }
  const json = jsonOf(body);
  if (!allowNul && containsNul(body)) throw nulProblem('body');
  return parseShape(schema, json, 'body');
}

/**
 * Parses JSON in UTF-8 of up to 100,000 values, nested up to 64 levels deep. Its texts may contain NUL characters.
 * @throws Problem `invalid_json`
 */
export function jsonOf(body: Buffer): unknown {
  const excess = excessOf(body);
  if (excess !== undefined) throw new Problem('invalid_json', `The body exceeds the limit of ${excess}.`);
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
  part: RequestPart,
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.slice(0, 20);
  const clauses = issues.map((issue) => issueText(part, issue));
  throw new Problem('invalid_request', `The request is not valid: ${clauses[0]}.`, {
    details: {
      issues: issues.map((issue) => ({ path: [part, ...issue.path.map(String)].join('.'), message: rule(issue) })),
    },
  });
}
