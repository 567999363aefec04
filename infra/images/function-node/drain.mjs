/** The default. Shorter, together with the 4 s of the preStop hook, than the grace period of 30 s. */
const drainMaxSeconds = 24;

/**
 * On SIGTERM or SIGINT, the server keeps serving requests, also new ones, and closes each connection after its response.
 * When no request is in progress, the process exits with 0. Requests that take longer than `seconds` are aborted.
 */
export function drainOnSignal(server, log, seconds = drainMaxSeconds) {
  const responses = new Set();
  let draining = false;

  const exitWhenIdle = () => {
    if (!draining || responses.size > 0) return;
    server.close(() => process.exit(0));
    server.closeIdleConnections();
  };
  const drain = () => {
    if (draining) return;
    draining = true;
    for (const response of responses) response.shouldKeepAlive = false;
    setTimeout(() => {
      log('warn', 'requests did not finish within the shutdown period and were closed', { requests: responses.size });
      process.exit(0);
    }, seconds * 1000).unref();
    exitWhenIdle();
  };

  // Runs before the server's own listener, which may respond immediately.
  server.prependListener('request', (request, response) => {
    if (draining) response.shouldKeepAlive = false;
    responses.add(response);
    response.once('close', () => {
      responses.delete(response);
      exitWhenIdle();
    });
  });
  process.on('SIGTERM', drain);
  process.on('SIGINT', drain);
}
