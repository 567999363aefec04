import type { Endpoint } from './endpoints.ts';
import { openPodConnection, type PodConnection } from './pod-connection.ts';

/** Maximum idle connections per pod. */
const idleMax = 256;
/**
 * Interval at which connections that were idle for too long are closed: one timer for all, because one for each would
 * be reset at every request.
 */
const sweepMs = 500;

/** Connections to pods. Their number is not limited here; the limits of requests per pod are applied earlier. */
export interface PodPool {
  /** The most recently used idle connection, or a new one. */
  take(endpoint: Endpoint): PodConnection;
  /** Closes all connections, including those in use. */
  close(): void;
}

/** Creates an empty pool. */
export function createPodPool(): PodPool {
  const idle = new Map<Endpoint, PodConnection[]>();
  const open = new Set<PodConnection>();
  const sweep = setInterval(() => {
    for (const connections of idle.values())
      for (const connection of connections) if (!connection.usable()) connection.destroy();
  }, sweepMs);
  sweep.unref();

  const release = (endpoint: Endpoint, connection: PodConnection) => {
    const connections = idle.get(endpoint);
    if (!connections) idle.set(endpoint, [connection]);
    else if (connections.length < idleMax) connections.push(connection);
    else connection.destroy();
  };

  const forget = (endpoint: Endpoint, connection: PodConnection) => {
    open.delete(connection);
    const remaining = idle.get(endpoint)?.filter((other) => other !== connection);
    if (remaining?.length) idle.set(endpoint, remaining);
    else idle.delete(endpoint);
  };

  return {
    take(endpoint) {
      const connections = idle.get(endpoint);
      for (let connection = connections?.pop(); connection; connection = connections?.pop()) {
        if (connection.usable()) return connection;
        connection.destroy();
      }
      const connection = openPodConnection(endpoint, {
        idle: (connection) => release(endpoint, connection),
        closed: (connection) => forget(endpoint, connection),
      });
      open.add(connection);
      return connection;
    },
    close() {
      clearInterval(sweep);
      for (const connection of open) connection.destroy();
    },
  };
}
