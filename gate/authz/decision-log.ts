import type { IncomingHttpHeaders } from 'node:http';
import { pino, stdTimeFunctions } from 'pino';
import type { Clock } from '../../runtime/domain/clock.ts';
import { createDenialSummary } from './denial-summary.ts';
import { createBucket, takeToken, type Bucket } from './rate-limit.ts';
import type { Verdict } from './verdict.ts';

/** The whole chain is logged up to this (spec.md §6.3). */
const forwardedForMaxBytes = 256;
/** The longest textual address is 45 characters; what a client makes up is cut. */
const clientIpMax = 64;
/** One allowed request in this many is logged (spec.md §8). */
const allowSample = 100;
/**
 * Denials with an entry of their own, in a second and in a row: enough to investigate an attack by, and a few hundred
 * bytes each, so that a flood cannot fill the log store or take the time of verdicts.
 */
const entriesPerSecond = 1_000;

/** What is logged of a request, looked at only when it is. */
export interface LoggedRequest {
  /** `x-forwarded-for` among them. */
  headers: IncomingHttpHeaders;
  /** The other end is the ingress. */
  socket: { remoteAddress?: string | undefined };
}

/**
 * The log of verdicts (spec.md §6.3): every denial, one allow in a hundred, and never a key. Denials past 1,000 entries
 * a second, and those that the output cannot take, are summed up: one entry a second and reason, with their `count`.
 */
export interface DecisionLog {
  record(verdict: Verdict, request: LoggedRequest): void;
  /** Writes what is summed up so far; nothing may be recorded afterwards. */
  close(): void;
}

/** A line-oriented output that never blocks: {@link openDecisionOutput}'s, or a test's array. */
export interface DecisionOutput {
  /** False says that the line was not taken. */
  write(line: string): boolean;
}

/** The first hop of the chain, as the log's `client_ip` is defined; the ingress itself when there is no chain. */
function clientIp(forwardedFor: string | undefined, { socket }: LoggedRequest): string | undefined {
  if (forwardedFor === undefined) return socket.remoteAddress;
  const comma = forwardedFor.indexOf(',');
  return (comma < 0 ? forwardedFor : forwardedFor.slice(0, comma)).trim().slice(0, clientIpMax);
}

/** At most 256 bytes of it in UTF-8, cut between characters. */
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
 * @param name the process's name, as in its other log entries
 * @param clock counts the entries of a second
 */
export function createDecisionLog(name: string, output: DecisionOutput, clock: Clock): DecisionLog {
  let taken = true;
  // Denials are always logged, whatever the level of the rest.
  const log = pino(
    {
      level: 'info',
      base: { name },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label: string) => ({ level: label }) },
    },
    { write: (line: string) => (taken = output.write(line)) },
  );
  const summary = createDenialSummary(clock, (summed) => {
    log.warn(summed, 'authorize deny');
    return taken;
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
      if (!taken && !allowed) summary.add(decision, fault);
    },
    close: () => summary.close(),
  };
}
