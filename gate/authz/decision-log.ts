import type { IncomingHttpHeaders } from 'node:http';
import { pino, stdTimeFunctions } from 'pino';
import type { Clock } from '../../runtime/domain/clock.ts';
import { createDenialSummary } from './denial-summary.ts';
import { createBucket, takeToken, type Bucket } from './rate-limit.ts';
import type { Verdict } from './verdict.ts';

/** Maximum logged length of X-Forwarded-For (docs/reference/logs.md#gate). */
const forwardedForMaxBytes = 256;
/** Clients can send anything as an address; a real one has at most 45 characters. */
const clientIpMax = 64;
/** One of this many allowed requests is logged (docs/reference/limits.md#limits). */
const allowSample = 100;
/**
 * Maximum rate and burst of entries for single denials: enough to investigate an attack, and too few to fill the log
 * store or to slow down verdicts.
 */
const entriesPerSecond = 1_000;

/** The parts of a request that an entry shows. */
interface LoggedRequest {
  headers: IncomingHttpHeaders;
  /** The connection to the ingress. */
  socket: { remoteAddress?: string | undefined };
}

/**
 * The log of verdicts: every denial and one of 100 allowed requests, never a key (docs/reference/logs.md#gate). Denials
 * beyond 1,000 per second, and those that the output drops, are summarized in one entry per second and reason, with
 * their `count`.
 */
export interface DecisionLog {
  record(verdict: Verdict, request: LoggedRequest): void;
  /** Writes the pending summaries. Do not record anything afterwards. */
  close(): void;
}

/** A line-oriented output that never blocks: {@link openDecisionOutput}'s, or a test's array. */
export interface DecisionOutput {
  /** @returns false when the line was dropped */
  write(line: string): boolean;
}

/** The first address of X-Forwarded-For; without the header, the ingress's own. */
function clientIp(forwardedFor: string | undefined, { socket }: LoggedRequest): string | undefined {
  if (forwardedFor === undefined) return socket.remoteAddress;
  return forwardedFor.replace(/,.*/, '').trim().slice(0, clientIpMax);
}

/** The first 256 bytes in UTF-8, cut between characters. */
function clipForwardedFor(text: string): string {
  let clipped = text.slice(0, forwardedForMaxBytes);
  while (Buffer.byteLength(clipped) > forwardedForMaxBytes) clipped = clipped.slice(0, -1);
  return clipped;
}

function keyPrefix(verdict: Verdict): string | undefined {
  if ('key' in verdict) return verdict.key.handle;
  return verdict.decision === 'deny_key' ? verdict.handle : undefined;
}

/**
 * @param name the process name in each entry
 * @param clock for the rate limit of entries
 */
export function createDecisionLog(name: string, output: DecisionOutput, clock: Clock): DecisionLog {
  let accepted = true;
  // Independent of LOG_LEVEL: denials are always logged.
  const log = pino(
    {
      level: 'info',
      base: { name },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label: string) => ({ level: label }) },
    },
    { write: (line: string) => (accepted = output.write(line)) },
  );
  const summary = createDenialSummary(clock, (summed) => {
    log.warn(summed, 'authorize deny');
    return accepted;
  });
  const entries: Bucket = createBucket();
  const limit = { requestsPerSecond: entriesPerSecond, burst: entriesPerSecond };
  let allows = 0;

  return {
    record(verdict, request) {
      const { decision } = verdict;
      if (decision === 'preflight') return;
      const allowed = decision === 'allow';
      const fault = decision === 'deny_key' ? verdict.fault : undefined;
      if (allowed) {
        if (allows++ % allowSample !== 0) return;
      } else if (takeToken(entries, limit, clock.monotonic()) > 0) {
        summary.add(decision, fault);
        return;
      }
      const header = request.headers['x-forwarded-for'];
      const forwardedFor = Array.isArray(header) ? header.join(', ') : header;
      log.info(
        {
          client_ip: clientIp(forwardedFor, request),
          key_prefix: keyPrefix(verdict),
          reason: allowed ? undefined : decision,
          fault,
          app: 'app' in verdict ? `${verdict.app.namespace}/${verdict.app.name}` : undefined,
          forwarded_for: forwardedFor === undefined ? undefined : clipForwardedFor(forwardedFor),
        },
        allowed ? 'authorize allow' : 'authorize deny',
      );
      if (!accepted && !allowed) summary.add(decision, fault);
    },
    close: () => summary.close(),
  };
}
