import { createConnection, escape, escapeId, type Connection } from 'mysql2/promise';
import { limitAnswers } from '../../runtime/services/answer-limit.ts';
import { mysqlStream, streamOfMysql } from '../../runtime/services/mysql-connection.ts';
import { adminOf, BindingError, grantHint, serverLimits, type BoundServer, type ServerTarget } from './server.ts';

/** A MySQL or MariaDB server for bindings. @throws BindingError */
export async function openMysql(target: ServerTarget): Promise<BoundServer> {
  const limit = limitAnswers();
  const admin: Connection = await createConnection({
    host: target.host,
    port: target.port,
    ...adminOf(target.credentials),
    stream: mysqlStream(target.address, target.port, limit),
    ...(target.tls && { ssl: { verifyIdentity: true } }),
    connectTimeout: serverLimits.connectMs,
    multipleStatements: false,
  }).catch((error: unknown) => {
    throw toBindingError(error);
  });
  // A connection lost between two statements is reported by the next statement.
  admin.on('error', () => undefined);
  if (target.tls) limit.watch(streamOfMysql(admin));

  const run = async (sql: string, values: readonly (string | number)[] = []) => {
    limit.reset();
    try {
      const [rows] = await admin.query({ sql, values: [...values], timeout: serverLimits.statementMs });
      return Array.isArray(rows) ? (rows as Record<string, unknown>[]) : [];
    } catch (error) {
      throw toBindingError(error);
    }
  };
  const account = (username: string) => `${escape(username)}@'%'`;

  return {
    databases: {
      async exists(database) {
        const rows = await run('SELECT 1 FROM information_schema.schemata WHERE schema_name = ?', [database]);
        return rows.length > 0;
      },

      async create(database) {
        await run(`CREATE DATABASE IF NOT EXISTS ${escapeId(database, true)} CHARACTER SET utf8mb4`);
      },

      async drop(database) {
        await run(`DROP DATABASE IF EXISTS ${escapeId(database, true)}`);
      },
    },

    async putUser({ username, password, database, owner }) {
      const user = account(username);
      await run(`CREATE USER IF NOT EXISTS ${user} IDENTIFIED BY ${escape(password)}`);
      await run(`ALTER USER ${user} IDENTIFIED BY ${escape(password)}`);
      const privileges = owner ? 'ALL PRIVILEGES' : 'SELECT, INSERT, UPDATE, DELETE, CREATE TEMPORARY TABLES';
      await run(`GRANT ${privileges} ON ${databasePattern(database)}.* TO ${user}`);
    },

    async deleteUser(username) {
      await run(`DROP USER IF EXISTS ${account(username)}`);
      const rows = await run('SELECT id FROM information_schema.processlist WHERE user = ?', [username]);
      for (const { id } of rows) await run('KILL ?', [Number(id)]).catch(() => undefined);
    },

    close: () => admin.end().catch(() => admin.destroy()),
  };
}

/** Escapes `_` and `%`, which are wildcards in a GRANT and would match other workloads' databases. */
function databasePattern(database: string): string {
  return escapeId(database.replace(/[\\_%]/g, '\\$&'), true);
}

/** Drops the driver's error, which contains the statement and so a password. */
function toBindingError(error: unknown): BindingError {
  const { code = '', sqlMessage, message } = error as { code?: string; sqlMessage?: string; message?: string };
  const reason = sqlMessage ?? message ?? code;
  const denied = ['ER_DBACCESS_DENIED_ERROR', 'ER_SPECIFIC_ACCESS_DENIED_ERROR', 'ER_TABLEACCESS_DENIED_ERROR'];
  if (denied.includes(code)) return new BindingError(`The server denied access: ${reason}; ${grantHint}.`);
  return new BindingError(`The server refused the request or is unreachable: ${reason}.`);
}
