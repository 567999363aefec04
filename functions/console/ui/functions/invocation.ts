import type { FunctionInvocation, InvocationAnswer } from '../../../../runtime/contracts/api/invocations.ts';
import { filledLines } from '../parts/lines.ts';

/** The form of a request to a function, as texts. */
export interface InvocationDraft {
  method: string;
  path: string;
  /** `name: value` on each line. */
  headers: string;
  body: string;
}

export const newInvocation: InvocationDraft = { method: 'GET', path: '/', headers: '', body: '' };

/** The lines of the form's headers that are not empty. */
export function headerLines({ headers }: InvocationDraft): string[] {
  return filledLines(headers);
}

/** The first line that is no header; undefined if there is none. */
export function faultyLine(draft: InvocationDraft): string | undefined {
  return headerLines(draft).find((line) => line.indexOf(':') < 1);
}

/** The path as it is sent: with a slash at its beginning, and percent-encoded where HTTP requires it. */
export function sentPath({ path }: InvocationDraft): string {
  const encoded = path
    .trim()
    .toWellFormed()
    .replaceAll(/[^\x21-\x7e]|#/gu, (character) => encodeURIComponent(character));
  return encoded.startsWith('/') ? encoded : `/${encoded}`;
}

/** The body of the request to the API. As with `svc`, a body without a content type is JSON, or else text. */
export function invocationOf(draft: InvocationDraft): FunctionInvocation {
  const { method, body } = draft;
  const headers = headerLines(draft).map((line) => {
    const colon = line.indexOf(':');
    return { name: line.slice(0, colon).trim(), value: line.slice(colon + 1).trim() };
  });
  const hasType = body === '' || headers.some(({ name }) => name.toLowerCase() === 'content-type');
  if (!hasType) {
    headers.push({ name: 'content-type', value: isJson(body) ? 'application/json' : 'text/plain; charset=utf-8' });
  }
  return {
    method: method as FunctionInvocation['method'],
    path: sentPath(draft),
    ...(headers.length > 0 && { headers }),
    ...(body !== '' && { body }),
  };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The most characters of a body that the page shows; the command prints all of it. */
export const shownMax = 100_000;

/** The body of an answer to show: JSON with line breaks and indentation, all else as it is. */
export function shownBody({ body, bodyEncoding, bodyEnd }: InvocationAnswer): string {
  const isWhole = bodyEncoding === 'text' && bodyEnd === 'complete' && body.length <= shownMax;
  const pretty = isWhole && /^\s*[[{]/.test(body) && isJson(body) ? prettyJson(body) : undefined;
  return (pretty ?? body).slice(0, shownMax);
}

/**
 * JSON with line breaks and indentation. It works on the text, because numbers that are parsed lose digits.
 * @returns undefined if it is much longer, which deep nesting makes it
 */
function prettyJson(json: string): string | undefined {
  let result = '';
  let depth = 0;
  let previous = '';
  const line = () => `\n${'  '.repeat(depth)}`;
  for (let at = 0; at < json.length; at++) {
    if (result.length > shownMax) return undefined;
    const character = json[at] ?? '';
    if (/\s/.test(character)) continue;
    const isFirst = previous === '[' || previous === '{';
    const closes = character === ']' || character === '}';
    if (closes) depth -= 1;
    if (closes ? !isFirst : isFirst || previous === ',') result += line();
    const end = character === '"' ? endOfString(json, at) : at + 1;
    result += character === ':' ? ': ' : json.slice(at, end);
    if (character === '[' || character === '{') depth += 1;
    at = end - 1;
    previous = character;
  }
  return result;
}

/** Where the string that starts at a quote ends, in valid JSON. */
function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return at + 1;
}
