/** Together with the time that a pod is kept after the scale-down (4 s), below the grace period of 30 s. */
const drainMaxMs = 24_000;

/**
 * On SIGTERM or SIGINT the server goes on serving what is under way and what still arrives, and asks clients to leave;
 * once nothing is under way, it closes and the process ends with 0. What takes too long is cut off.
 */
export function drainOnSignal(server, log) {
  const open = new Set();
  let draining = false;

  const leave = () => {
    if (!draining || open.size > 0) return;
    server.close(() => process.exit(0));
    server.closeIdleConnections();
  };
  const begin = () => {
    if (draining) return;
    draining = true;
    for (const response of open) response.shouldKeepAlive = false;
    setTimeout(() => {
      log('warn', 'requests were cut off, since the function has to end', { requests: open.size });
      process.exit(0);
    }, drainMaxMs).unref();
    leave();
  };

  // Before the server's own listener, which may answer at once.
  server.prependListener('request', (request, response) => {
    if (draining) response.shouldKeepAlive = false;
    open.add(response);
    response.once('close', () => {
      open.delete(response);
      leave();
    });
  });
  process.on('SIGTERM', begin);
  process.on('SIGINT', begin);
}
