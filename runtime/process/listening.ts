import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Clock } from '../domain/clock.ts';

/**
 * Starts to listen on a port; 0 lets the system choose one. @param host default: all interfaces @returns the port
 * @throws Error when the port is in use
 */
export async function listen(server: Server | SecureServer, port: number, host?: string): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' && address ? address.port : port;
}

/** Stops a server at once: it refuses new connections and closes all others. */
export async function close(server: Server | SecureServer): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

/**
 * Stops a server: it refuses new connections at once, lets running requests finish for up to `ms`, then closes all
 * connections. @param onDeadline closes the connections that the server no longer knows, such as upgraded ones; called in
 * any case before the wait for the last connection
 */
export async function drain(
  server: Server,
  { clock, ms, onDeadline }: { clock: Clock; ms: number; onDeadline?: () => void },
): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const limit = new AbortController();
  await Promise.race([closed, clock.sleep(ms, limit.signal).catch(() => undefined)]);
  limit.abort();
  server.closeAllConnections();
  onDeadline?.();
  await closed;
}
