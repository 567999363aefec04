import type { ServerResponse } from 'node:http';
import { Problem } from '../domain/problem.ts';

/** Interval in ms of the checks of an open stream, so that one ends within a second after its caller's session or token. */
const periodMs = 500;
/** Each tenth check also checks the caller's role, which reads the project from the API server. */
const roleEvery = 10;

/** Each rejects with a Problem of status 401, 403 or 404 after the end; other errors, such as of the database, do not count. */
interface Checks {
  /** Whether the session or access token is still valid. */
  authenticate: () => Promise<unknown>;
  /** The same, and whether the caller may still call the route. */
  authorize: () => Promise<unknown>;
}

/** Closes the connection of a stream within a second after its caller's session or token has ended, and within some after a role. */
export function closeWithAccess(response: ServerResponse, { authenticate, authorize }: Checks): void {
  let checking = false;
  let count = 0;
  const timer = setInterval(() => {
    if (response.closed) clearInterval(timer);
    if (response.closed || checking) return;
    checking = true;
    const check = ++count % roleEvery === 0 ? authorize : authenticate;
    check()
      .catch((error: unknown) => {
        if (error instanceof Problem && error.status < 500) response.destroy();
      })
      .finally(() => (checking = false));
  }, periodMs);
  timer.unref();
}
