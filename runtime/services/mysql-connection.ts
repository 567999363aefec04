import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import type { AnswerLimit } from './answer-limit.ts';

/**
 * For mysql2, which checks the certificate against its host: connects to this address instead of resolving the host.
 * @param limit of what the server may send
 */
export function mysqlStream(address: string, port: number, limit: AnswerLimit) {
  return () => limit.watch(connect({ host: address, port, keepAlive: true, noDelay: true }));
}

/** The stream of a connection of mysql2, which has another one once it is encrypted. */
export function streamOfMysql(connection: object): Duplex {
  // The interface with promises wraps the connection.
  const { stream } = ('connection' in connection ? connection.connection : connection) as { stream: Duplex };
  return stream;
}
