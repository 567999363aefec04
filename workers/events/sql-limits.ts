import type { AnswerTooLargeError } from '../../runtime/services/answer-limit.ts';
import { SourceError } from './source.ts';

/** Time-outs of the database of an event source. */
export interface SqlTimes {
  /** Of one statement. */
  statementMs: number;
  /** Of opening a connection. */
  connectMs: number;
}

export const defaultTimes: SqlTimes = { statementMs: 10_000, connectMs: 10_000 };
/** The server cancels a statement at its time-out; this much later the client closes the connection. */
export const graceMs = 2_000;

/** The failure of a source whose server sent too much. */
export function tooMuch({ message }: AnswerTooLargeError): SourceError {
  return new SourceError(`Reading stopped: ${message}. Make the query return fewer or smaller columns.`);
}
