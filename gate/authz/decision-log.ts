import { pino, stdTimeFunctions } from 'pino';
import type { Verdict } from './verdict.ts';

/** The whole chain is logged up to this (spec.md §6.3). */
const forwardedForMaxBytes = 256;
/** The longest textual address is 45 characters; what a client makes up is cut. */
const clientIpMax = 64;
/** One allowed request in this many is logged (spec.md §8). */
const allowSample = 100;

/** Where a request came from. */
export interface RequestOrigin {
  /** The `X-Forwarded-For` header. */
  forwardedFor: string | undefined;
  /** The other end of the connection: the ingress. */
  peer: string | undefined;
}

/**
 * The log of verdicts (spec.md §6.3): every denial, one allow in a hundred, and never a key. Entries that the output
 * cannot take are dropped rather than waited for, and summed up in one entry as soon as it can.
 */
export interface DecisionLog {
  record(verdict: Verdict, origin: RequestOrigin): void;
}

/** A line-oriented output that never blocks: pino's asynchronous destination, or a test's array. */
export interface DecisionOutput {
  write(line: string): void;
}

/** The first hop of the chain, as the log's `client_ip` is defined; the ingress itself when there is no chain. */
function clientIp({ forwardedFor, peer }: RequestOrigin): string | undefined {
  if (forwardedFor === undefined) return peer;
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

/** @param name the process's name, as in its other log entries */
export function createDecisionLog(name: string, output: DecisionOutput): DecisionLog {
  // Denials are always logged, whatever the level of the rest.
  const log = pino(
    {
      level: 'info',
      base: { name },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label: string) => ({ level: label }) },
    },
    output,
  );
  let allows = 0;

  return {
    record(verdict, origin) {
      if (verdict.decision === 'preflight') return;
      const allowed = verdict.decision === 'allow';
      if (allowed && allows++ % allowSample !== 0) return;
      const app = 'app' in verdict ? `${verdict.app.namespace}/${verdict.app.name}` : undefined;
      log.info(
        {
          client_ip: clientIp(origin),
          key_prefix: keyPrefix(verdict),
          reason: allowed ? undefined : verdict.decision,
          fault: verdict.decision === 'deny_key' ? verdict.fault : undefined,
          app,
          forwarded_for: origin.forwardedFor === undefined ? undefined : clipForwardedFor(origin.forwardedFor),
        },
        allowed ? 'authorize allow' : 'authorize deny',
      );
    },
  };
}
