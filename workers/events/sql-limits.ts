/** How long a database may take for one statement of a data source, and to accept a connection. */
export interface SqlTimes {
  /** What takes longer is cut off. */
  statementMs: number;
  connectMs: number;
}

export const defaultTimes: SqlTimes = { statementMs: 10_000, connectMs: 10_000 };
/** The server cuts a statement off; after so much longer this side gives the connection up. */
export const graceMs = 2_000;
