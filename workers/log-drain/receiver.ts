import type { LookupFunction } from 'node:net';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { createAddressMatcher } from '../../runtime/domain/address.ts';
import type { LogDrainFormat } from '../../runtime/domain/log-drain.ts';
import { send, type SendResult } from '../../runtime/process/outgoing-request.ts';
import type { FedLine } from '../../runtime/logs/feed.ts';
import { encodeLines } from './encode.ts';

const compress = promisify(gzip);
/** Maximum bytes of an answer that are read: an OTLP receiver says in it how many lines it refused. */
const answerMaxBytes = 16 * 1024;
/** Maximum of a receiver's Retry-After. */
const retryAfterMaxSeconds = 600;
/** Answers of 4xx that an admin or time mends, so that no line is lost for them. */
const mendable = new Set([401, 403, 404, 405, 407, 408, 421, 425, 429]);
const blocked = 'is in a private network. Name the network to allow it: svc platform log-drain set --network <network>';

/** Where and how lines are sent. */
export interface Receiver {
  url: string;
  format: LogDrainFormat;
  headers: Readonly<Record<string, string>>;
  networks: readonly string[];
  timeoutMs: number;
  lookup?: LookupFunction | undefined;
}

/** What became of lines: all were sent or refused, or the request is to be repeated. */
export type Delivery =
  { sent: number; refused: number; error?: string | undefined } | { failure: string; retryAfterMs: number };

/** Sends lines in one request. When it is too large, they are sent in halves. */
export async function deliver(receiver: Receiver, lines: readonly FedLine[], signal: AbortSignal): Promise<Delivery> {
  const result = await post(receiver, lines, signal);
  if ('fault' in result) return { failure: result.fault, retryAfterMs: 0 };
  const { status, body = '', retryAfterSeconds = 0 } = result;
  if (status >= 200 && status < 300) {
    const refused = receiver.format === 'otlp' ? Math.min(rejectedIn(body), lines.length) : 0;
    const error = refused > 0 ? `the receiver rejected ${refused} of ${lines.length} lines` : undefined;
    return { sent: lines.length - refused, refused, error };
  }
  if (status === 413 && lines.length > 1) {
    const middle = Math.ceil(lines.length / 2);
    const first = await deliver(receiver, lines.slice(0, middle), signal);
    if ('failure' in first) return first;
    const second = await deliver(receiver, lines.slice(middle), signal);
    if ('failure' in second) return second;
    const [sent, refused] = [first.sent + second.sent, first.refused + second.refused];
    return { sent, refused, error: first.error ?? second.error };
  }
  if (status >= 400 && status < 500 && !mendable.has(status)) {
    return { sent: 0, refused: lines.length, error: `the receiver responded with ${status}` };
  }
  const redirect = status >= 300 && status < 400 ? '; redirects are not followed' : '';
  const retryAfterMs = Math.min(retryAfterSeconds, retryAfterMaxSeconds) * 1000;
  return { failure: `the receiver responded with ${status}${redirect}`, retryAfterMs };
}

async function post(
  { url, format, headers, networks, timeoutMs, lookup }: Receiver,
  lines: readonly FedLine[],
  signal: AbortSignal,
): Promise<SendResult> {
  const { contentType, body } = encodeLines(format, lines);
  return send({
    url,
    headers: { ...headers, 'content-type': contentType, 'content-encoding': 'gzip', 'user-agent': 'svc-log-drain/1' },
    body: await compress(body, { level: 4 }),
    allowed: createAddressMatcher(networks),
    blocked,
    bodyMaxBytes: format === 'otlp' ? answerMaxBytes : 0,
    timeoutMs,
    signal,
    ...(lookup && { lookup }),
  });
}

/** The lines that an OTLP receiver did not accept; 0 for an answer that does not say so. */
function rejectedIn(body: string): number {
  try {
    const answer = JSON.parse(body) as { partialSuccess?: { rejectedLogRecords?: unknown } | null } | null;
    // int64 is text in protobuf's JSON.
    const count = Number(answer?.partialSuccess?.rejectedLogRecords ?? 0);
    return Number.isSafeInteger(count) && count > 0 ? count : 0;
  } catch {
    return 0;
  }
}
