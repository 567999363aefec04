import { Problem } from '../domain/problem.ts';

/** Interval in ms of the checks, so that a request ends within a second after its caller's session or token. */
const defaultPeriodMs = 500;
/** Each tenth check also checks the caller's role, which reads the project from the API server. */
const roleEvery = 10;

/** Each rejects with a Problem of status 401, 403 or 404 after the end; other errors, such as of the database, do not count. */
export interface AccessChecks {
  /** Whether the session or access token is still valid. */
  authenticate: () => Promise<unknown>;
  /** The same, and whether the caller may still call the route. */
  authorize: () => Promise<unknown>;
  /** Whether the response is closed, which stops the watch. */
  isClosed: () => boolean;
}

/**
 * Watches the access of the caller of a request in progress, such as a stream.
 * @param onEnd called once, within a second after the session or token has ended, and within some after a role
 * @param periodMs between two checks; default 500
 * @returns stops the watch; may be called more than once
 */
export function watchAccess(
  { authenticate, authorize, isClosed }: AccessChecks,
  onEnd: (problem: Problem) => void,
  periodMs = defaultPeriodMs,
): () => void {
  let isChecking = false;
  let isStopped = false;
  let count = 0;
  const stop = () => {
    isStopped = true;
    clearInterval(timer);
  };
  const timer = setInterval(() => {
    if (isClosed()) stop();
    if (isStopped || isChecking) return;
    isChecking = true;
    const check = ++count % roleEvery === 0 ? authorize : authenticate;
    check()
      .catch((error: unknown) => {
        if (isStopped || !(error instanceof Problem) || error.status >= 500) return;
        stop();
        onEnd(error);
      })
      .finally(() => (isChecking = false));
  }, periodMs);
  timer.unref();
  return stop;
}
