import { Problem } from '../domain/problem.ts';
import { KubeError } from '../kube/kube-client.ts';

/** Errors of sockets that mean that a store or the API server cannot be reached right now. */
const connectionCodes = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENOTFOUND', 'EAI_AGAIN'];
/** PostgreSQL: lost connections (08), missing resources (53), operator intervention (57), a lock not had in time. */
const databaseUnavailable = /^((08|53|57)[0-9A-Z]{3}|55P03|25P03)$/;

/** API keys, session tokens and webhook tokens, wherever they stand. */
const tokens = /svc(?:s|wh)?_[a-z0-9_]{40,}/g;

/** The body of a refusal. Messages repeat what was sent; a token that was sent in a wrong place is not repeated. */
export function problemBodyOf(problem: Problem): unknown {
  return JSON.parse(JSON.stringify(problem.body()).replaceAll(tokens, '[token]'));
}

/** The public face of any error: what the caller can act on as it is, the rest as `unavailable` or `internal`. */
export function problemOf(error: unknown, requestId: string): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof KubeError && error.status === 409) {
    return new Problem('conflict', 'Somebody else changed this at the same moment; try again.', { cause: error });
  }
  if (isUnavailable(error)) {
    return new Problem('unavailable', 'The platform cannot reach a part of itself right now; try again shortly.', {
      cause: error,
      details: { requestId },
    });
  }
  return new Problem('internal', 'The platform failed; give this request id to its operator.', {
    cause: error,
    details: { requestId },
  });
}

function isUnavailable(error: unknown): boolean {
  if (error instanceof KubeError) return error.status === 0 || error.status === 429 || error.status >= 500;
  if (!(error instanceof Error)) return false;
  // A call that was cut off by its time limit (AbortSignal.timeout).
  if (error.name === 'TimeoutError') return true;
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string') {
    // undici's own codes are all of connections.
    if (connectionCodes.includes(code) || code.startsWith('UND_ERR_') || databaseUnavailable.test(code)) return true;
  }
  // node-postgres has no code for a pool that found no connection in time.
  return /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout)/.test(error.message);
}
