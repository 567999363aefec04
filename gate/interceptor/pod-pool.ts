import type { Endpoint } from './endpoints.ts';
import { openPodConnection, type PodConnection } from './pod-connection.ts';

/** More than these do not rest, for each pod. */
const idleMax = 256;
/** What has rested too long is ended this often: one timer for all, since one for each would be set at every request. */
const sweepMs = 500;

/** Connections to pods that are kept, without a bound: how many requests a pod gets is decided before. */
export interface PodPool {
  /** One that rests, the last used first, or a new one. */
  take(endpoint: Endpoint): PodConnection;
  /** Ends every connection, those in use, too. */
  close(): void;
}

/** An empty pool. */
export function createPodPool(): PodPool {
  const idle = new Map<Endpoint, PodConnection[]>();
  const open = new Set<PodConnection>();
  const sweep = setInterval(() => {
    for (const resting of idle.values())
      for (const connection of resting) if (!connection.usable()) connection.destroy();
  }, sweepMs);
  sweep.unref();

  const rest = (endpoint: Endpoint, connection: PodConnection) => {
    const resting = idle.get(endpoint);
    if (!resting) idle.set(endpoint, [connection]);
    else if (resting.length < idleMax) resting.push(connection);
    else connection.destroy();
  };

  const forget = (endpoint: Endpoint, connection: PodConnection) => {
    open.delete(connection);
    const resting = idle.get(endpoint)?.filter((other) => other !== connection);
    if (resting?.length) idle.set(endpoint, resting);
    else idle.delete(endpoint);
  };

  return {
    take(endpoint) {
      const resting = idle.get(endpoint);
      for (let found = resting?.pop(); found; found = resting?.pop()) {
        if (found.usable()) return found;
        found.destroy();
      }
      const made = openPodConnection(endpoint, {
        idle: (connection) => rest(endpoint, connection),
        closed: (connection) => forget(endpoint, connection),
      });
      open.add(made);
      return made;
    },
    close() {
      clearInterval(sweep);
      for (const connection of open) connection.destroy();
    },
  };
}
