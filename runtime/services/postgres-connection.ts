import { Socket } from 'node:net';
import pg from 'pg';
import type { AnswerLimit } from './answer-limit.ts';

/**
 * Prepares a connection to a PostgreSQL server of a tenant. A lost connection is reported by the next statement.
 * @param limit of what the server may send
 */
export function createPostgresClient(config: Omit<pg.ClientConfig, 'stream'>, limit: AnswerLimit): pg.Client {
  const client = new pg.Client({ ...config, stream: () => limit.watch(new Socket()) });
  client.connection.once('sslconnect', () => limit.watch(client.connection.stream));
  client.on('error', () => undefined);
  return client;
}

/** Closes a connection without waiting for the server, which need not close its side. */
export function closePostgresClient(client: pg.Client): void {
  client.end().catch(() => undefined);
  client.connection.stream.destroy();
}
