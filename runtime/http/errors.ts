import { platformTokens } from '../domain/platform-tokens.ts';
import { Problem } from '../domain/problem.ts';
import { KubeError } from '../kube/kube-client.ts';

/** Socket errors of a data store or API server that is unavailable. */
const connectionCodes = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENOTFOUND', 'EAI_AGAIN'];
/** PostgreSQL: connection errors (08), insufficient resources (53), operator intervention (57), lock time-outs. */
const databaseUnavailable = /^((08|53|57)[0-9A-Z]{3}|55P03|25P03)$/;

/** The body of an error response as JSON. Tokens are masked: messages repeat parts of the request. */
export function problemTextOf(problem: Problem): string {
  return JSON.stringify(problem.body()).replaceAll(platformTokens, '[token]');
}

/** As {@link problemTextOf}, parsed. */
export function problemBodyOf(problem: Problem): unknown {
  return JSON.parse(problemTextOf(problem));
}

/** The Problem for any error. Errors that the client cannot act on become `unavailable` or `internal`. */
export function problemOf(error: unknown, requestId: string): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof KubeError && error.status === 409) {
    return new Problem('conflict', 'Another request changed this object at the same time. Try again.', {
      cause: error,
    });
  }
  if (isUnavailable(error)) {
    return new Problem('unavailable', 'A platform component is unavailable. Try again shortly.', {
      cause: error,
      details: { requestId },
    });
  }
  return new Problem('internal', 'An internal error occurred. Report the request id to your platform admin.', {
    cause: error,
    details: { requestId },
  });
}

function isUnavailable(error: unknown): boolean {
  if (error instanceof KubeError) {
    // 403: the platform's rights in an environment begin and end a moment apart from its namespace.
    return error.status === 0 || error.status === 403 || error.status === 429 || error.status >= 500;
  }
  if (!(error instanceof Error)) return false;
  // From AbortSignal.timeout.
  if (error.name === 'TimeoutError') return true;
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string') {
    // All codes of undici are connection errors.
    if (connectionCodes.includes(code) || code.startsWith('UND_ERR_') || databaseUnavailable.test(code)) return true;
  }
  // node-postgres has no code for a connection time-out.
  return /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout)/.test(error.message);
}
