import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import {
  answerMaxBytes,
  bodyOf,
  type FunctionInvocation,
  type InvocationAnswer,
} from '../../runtime/contracts/api/invocations.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { Problem } from '../../runtime/domain/problem.ts';

/** How long a request may wait for a pod, in addition to the function's own limit: longer than interceptors hold it. */
const startMs = 70_000;
/** How long the body of an answer may take, because a stream can be endless. */
const defaultBodyMs = 30_000;
/** Room for the largest head that an interceptor passes on, 64 KiB, and for what it adds. */
const maxHeaderSize = 80 * 1024;
/** Headers of the connection between console-api and the interceptor. */
const hopHeaders: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding']);

export interface SendOptions {
  /** The address of the interceptors. No other address is connected to. */
  interceptorUrl: string;
  /** The function's host, by which the interceptors find it. */
  host: string;
  invocation: FunctionInvocation;
  /** What a function reads in the headers that the ingress sets: the caller's address, and the scheme of its URL. */
  forwarded: { for: string; proto: 'http' | 'https' };
  requestId: string;
  /** The function's own limit for the beginning of an answer. */
  timeoutMs: number;
  /** Default 30,000. */
  bodyMs?: number | undefined;
  clock: Clock;
  signal: AbortSignal;
}

/**
 * Sends one request to a function through the interceptors, which start it, count it and apply its limits. Reads the answer
 * within limits of size and time. A redirect is an answer like any other.
 * @throws Problem `unavailable` without an answer; the signal's reason when it aborts
 */
export async function sendInvocation(options: SendOptions): Promise<InvocationAnswer> {
  const { clock, signal, timeoutMs, bodyMs = defaultBodyMs } = options;
  const startedAt = clock.monotonic();
  const late = new AbortController();
  let stopLimit = limitTime(clock, timeoutMs + startMs, late);
  const outgoing = open(options, AbortSignal.any([signal, late.signal]));
  try {
    const response = await answerOf(outgoing);
    stopLimit();
    stopLimit = limitTime(clock, bodyMs, late);
    const { bytes, end } = await readBody(response);
    signal.throwIfAborted();
    return {
      status: response.statusCode ?? 0,
      headers: headersOf(response),
      ...textOf(bytes, end !== 'complete'),
      bodyEnd: end === 'broken' && late.signal.aborted ? 'time' : end,
      coldStart: response.headers['x-svc-cold-start'] === 'true',
      durationMs: Math.round(clock.monotonic() - startedAt),
    };
  } catch (error) {
    signal.throwIfAborted();
    const message = late.signal.aborted
      ? `The function did not answer within ${Math.round((timeoutMs + startMs) / 1000)} seconds.`
      : 'The platform could not reach the function.';
    throw new Problem('unavailable', `${message} Check its status and log.`, { cause: error });
  } finally {
    stopLimit();
    outgoing.destroy();
  }
}

/** Aborts `late` after `ms`. @returns stops that */
function limitTime(clock: Clock, ms: number, late: AbortController): () => void {
  const stopped = new AbortController();
  clock.sleep(ms, stopped.signal).then(
    () => late.abort(new Error(`the limit of ${ms} ms has passed`)),
    () => undefined,
  );
  return () => stopped.abort();
}

function open({ interceptorUrl, invocation, ...rest }: SendOptions, signal: AbortSignal): ClientRequest {
  const { hostname, port } = new URL(interceptorUrl);
  const { method = 'GET', path = '/' } = invocation;
  const body = bodyOf(invocation);
  const outgoing = httpRequest({
    hostname,
    port: port === '' ? 80 : Number(port),
    method,
    path,
    headers: rawHeaders(invocation, body.length, rest),
    // A connection of its own, which ends with the answer: what a function does to it concerns no other request.
    agent: false,
    maxHeaderSize,
    signal,
  });
  outgoing.end(body);
  return outgoing;
}

/** Name, value, name, value …, so that a repeated header stays repeated. */
function rawHeaders(
  { method = 'GET', headers = [] }: FunctionInvocation,
  length: number,
  { host, forwarded, requestId }: Pick<SendOptions, 'host' | 'forwarded' | 'requestId'>,
): string[] {
  const hasLength = length > 0 || ['POST', 'PUT', 'PATCH'].includes(method);
  return [
    ...['Host', host],
    ...headers.flatMap(({ name, value }) => [name, value]),
    ...(hasLength ? ['Content-Length', String(length)] : []),
    ...['X-Forwarded-For', forwarded.for],
    ...['X-Forwarded-Host', host],
    ...['X-Forwarded-Proto', forwarded.proto],
    ...['X-Real-Ip', forwarded.for],
    ...['X-Request-Id', requestId],
  ];
}

function answerOf(outgoing: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  outgoing.once('response', resolve);
  outgoing.on('error', reject);
  outgoing.once('close', () => reject(new Error('the connection ended before the answer')));
  return promise;
}

/** The bytes up to the end or the limit of size. They are copied: kept as they come, small chunks take much more memory. */
async function readBody(response: IncomingMessage): Promise<{ bytes: Buffer; end: 'complete' | 'size' | 'broken' }> {
  let buffer: Buffer = Buffer.alloc(0);
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      const next = Math.min(size + chunk.length, answerMaxBytes);
      if (next > buffer.length) {
        const grown = Buffer.allocUnsafeSlow(Math.min(answerMaxBytes, Math.max(next, 2 * buffer.length)));
        buffer.copy(grown, 0, 0, size);
        buffer = grown;
      }
      chunk.copy(buffer, size, 0, next - size);
      if (size + chunk.length > answerMaxBytes) return { bytes: buffer, end: 'size' };
      size = next;
    }
    return { bytes: buffer.subarray(0, size), end: 'complete' };
  } catch {
    return { bytes: buffer.subarray(0, size), end: 'broken' };
  }
}

function headersOf({ rawHeaders: raw }: IncomingMessage): InvocationAnswer['headers'] {
  const headers: InvocationAnswer['headers'] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const [name = '', value = ''] = [raw[index], raw[index + 1]];
    if (!hopHeaders.has(name.toLowerCase())) headers.push({ name, value });
  }
  return headers;
}

/** @param isCut whether the bytes may end within a character, which is then left out */
function textOf(bytes: Buffer, isCut: boolean): Pick<InvocationAnswer, 'body' | 'bodyEncoding'> {
  try {
    const body = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut });
    if (!body.includes('\0')) return { body, bodyEncoding: 'text' };
  } catch {
    // It is not text.
  }
  return { body: bytes.toString('base64'), bodyEncoding: 'base64' };
}
