import type { ServerResponse } from 'node:http';
import { Problem } from '../domain/problem.ts';

/** Interval in ms of the checks of an open stream, so that one ends within a second after its caller's access. */
const periodMs = 500;

/**
 * Closes the connection of a stream once the caller's session or access token has ended.
 * @param check rejects with a Problem of status 401 after the end; other errors, such as of the database, do not count
 */
export function closeWithAccess(response: ServerResponse, check: () => Promise<unknown>): void {
  let checking = false;
  const timer = setInterval(() => {
    if (response.closed) clearInterval(timer);
    if (response.closed || checking) return;
    checking = true;
    check()
      .catch((error: unknown) => {
        if (error instanceof Problem && error.status === 401) response.destroy();
      })
      .finally(() => (checking = false));
  }, periodMs);
  timer.unref();
}
