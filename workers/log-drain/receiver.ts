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
/** Requests for a page of which the receiver refuses something: one line of 4,096 is found with 25. */
export const pageRequests = 48;
const blocked = 'is in a private network. Name the network to allow it: svc platform log-drain set --network <network>';

/** Where and how lines are sent. */
export interface Receiver {
  url: string;
  format: LogDrainFormat;
  headers: Readonly<Record<string, string>>;
  networks: readonly string[];
  timeoutMs: number;
  lookup?: LookupFunction | undefined;
  /** The installation's CA certificates, which are trusted besides the public ones. */
  caCertificates?: string | undefined;
}

/**
 * What became of lines: all were sent or refused, or all are to be sent again. `divided`: some were sent, because the
 * receiver had refused all of them together.
 */
export type Delivery =
  | { sent: number; refused: number; error?: string | undefined }
  | { failure: string; retryAfterMs: number; divided?: boolean | undefined };

/**
 * Sends lines in one request. When the receiver refuses the request, sends the lines in smaller and smaller parts, so that
 * one bad line does not cost the others. Sends each part once. Parts that are still refused when the requests or the time
 * are used up are lost.
 * @param requests how many requests may be sent, at least one
 */
export async function deliver(
  receiver: Receiver,
  lines: readonly FedLine[],
  signal: AbortSignal,
  requests = pageRequests,
): Promise<Delivery> {
  const whole = await deliverOnce(receiver, lines, signal);
  if (!('refusal' in whole)) return whole;
  // A receiver that is slow to refuse must not use up the time of the attempt, which would then record nothing.
  const late = AbortSignal.timeout(2 * receiver.timeoutMs);
  const parts = [lines.toSorted(byNamespace)];
  let [sent, refused, error] = [0, 0, whole.refusal];
  for (let left = requests - 1; left >= 2 && !late.aborted; left -= 2) {
    const part = takeNext(parts);
    if (!part) break;
    for (const half of divide(part)) {
      const result = await deliverOnce(receiver, half, signal);
      if ('failure' in result) return { ...result, divided: true };
      if ('refusal' in result) {
        error = result.refusal;
        parts.push(half);
        continue;
      }
      sent += result.sent;
      refused += result.refused;
      error = result.error ?? error;
    }
  }
  refused += parts.reduce((sum, part) => sum + part.length, 0);
  return { sent, refused, error: refused > 0 ? error : undefined };
}

/** Sends lines in one request. A refusal is an answer that is the same for these lines each time. */
async function deliverOnce(
  receiver: Receiver,
  lines: readonly FedLine[],
  signal: AbortSignal,
): Promise<Delivery | { refusal: string }> {
  const result = await post(receiver, lines, signal);
  if ('fault' in result) return { failure: result.fault, retryAfterMs: 0 };
  const { status, body = '', retryAfterSeconds = 0 } = result;
  if (status >= 200 && status < 300) {
    const refused = receiver.format === 'otlp' ? Math.min(rejectedIn(body), lines.length) : 0;
    const error = refused > 0 ? `the receiver rejected ${refused} of ${lines.length} lines` : undefined;
    return { sent: lines.length - refused, refused, error };
  }
  if (status >= 400 && status < 500 && !mendable.has(status)) {
    return { refusal: `the receiver responded with ${status}` };
  }
  const redirect = status >= 300 && status < 400 ? '; redirects are not followed' : '';
  const retryAfterMs = Math.min(retryAfterSeconds, retryAfterMaxSeconds) * 1000;
  return { failure: `the receiver responded with ${status}${redirect}`, retryAfterMs };
}

/** The lines of each namespace side by side, in their order. */
function byNamespace(a: FedLine, b: FedLine): number {
  return a.namespace < b.namespace ? -1 : a.namespace > b.namespace ? 1 : 0;
}

/** Removes the part to divide next: first those with lines of several namespaces, then the largest. */
function takeNext(parts: FedLine[][]): FedLine[] | undefined {
  const urgency = (part: FedLine[]) => (part.at(0)?.namespace === part.at(-1)?.namespace ? 0 : 1);
  parts.sort((a, b) => urgency(b) - urgency(a) || b.length - a.length);
  return (parts[0]?.length ?? 0) > 1 ? parts.shift() : undefined;
}

/** Divides a part between two namespaces if it has several, and otherwise in the middle. */
function divide(part: FedLine[]): [FedLine[], FedLine[]] {
  const middle = Math.ceil(part.length / 2);
  const namespace = part[middle]?.namespace;
  const [first, next] = [
    part.findIndex((line) => line.namespace === namespace),
    part.findLastIndex((line) => line.namespace === namespace) + 1,
  ];
  const ends = [first, next].filter((index) => index > 0 && index < part.length);
  const [at = middle] = ends.toSorted((a, b) => Math.abs(a - middle) - Math.abs(b - middle));
  return [part.slice(0, at), part.slice(at)];
}

async function post(
  { url, format, headers, networks, timeoutMs, lookup, caCertificates }: Receiver,
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
    caCertificates,
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
