import { createConnection, escape, escapeId, type Connection } from 'mysql2/promise';
import { mysqlStream } from '../../runtime/host/service-address.ts';
import { adminOf, BindingError, moreRights, serverLimits, type BoundServer, type ServerTarget } from './server.ts';

/** A MySQL or MariaDB server for bindings. @throws BindingError */
export async function openMysql(target: ServerTarget): Promise<BoundServer> {
  const admin: Connection = await createConnection({
    ...{ host: target.host, port: target.port, ...adminOf(target.credentials) },
    stream: mysqlStream(target.address, target.port),
    ...(target.tls && { ssl: { verifyIdentity: true } }),
    connectTimeout: serverLimits.connectMs,
    multipleStatements: false,
  }).catch((error: unknown) => {
    throw refusal(error);
  });
  // The server may go between two statements; the next one says so.
  admin.on('error', () => undefined);

  const run = async (sql: string, values: readonly (string | number)[] = []) => {
    try {
      const [rows] = await admin.query({ sql, values: [...values], timeout: serverLimits.statementMs });
      return Array.isArray(rows) ? (rows as Record<string, unknown>[]) : [];
    } catch (error) {
      throw refusal(error);
    }
  };
  const account = (username: string) => `${escape(username)}@'%'`;

  return {
    databases: {
      async has(database) {
        const rows = await run('SELECT 1 FROM information_schema.schemata WHERE schema_name = ?', [database]);
        return rows.length > 0;
      },

      async make(database) {
        await run(`CREATE DATABASE IF NOT EXISTS ${escapeId(database, true)} CHARACTER SET utf8mb4`);
      },

      async drop(database) {
        await run(`DROP DATABASE IF EXISTS ${escapeId(database, true)}`);
      },
    },

    async admit({ username, password, database, owner }) {
      const user = account(username);
      await run(`CREATE USER IF NOT EXISTS ${user} IDENTIFIED BY ${escape(password)}`);
      await run(`ALTER USER ${user} IDENTIFIED BY ${escape(password)}`);
      const rights = owner ? 'ALL PRIVILEGES' : 'SELECT, INSERT, UPDATE, DELETE, CREATE TEMPORARY TABLES';
      await run(`GRANT ${rights} ON ${pattern(database)}.* TO ${user}`);
    },

    async expel(username) {
      await run(`DROP USER IF EXISTS ${account(username)}`);
      const rows = await run('SELECT id FROM information_schema.processlist WHERE user = ?', [username]);
      for (const { id } of rows) await run('KILL ?', [Number(id)]).catch(() => undefined);
    },

    close: () => admin.end().catch(() => admin.destroy()),
  };
}

/** In a GRANT, `_` and `%` stand for any characters, and so for other functions' databases. */
function pattern(database: string): string {
  return escapeId(database.replace(/[\\_%]/g, '\\$&'), true);
}

/** Never the driver's own error: it carries the statement, and so a password. */
function refusal(error: unknown): BindingError {
  const { code = '', sqlMessage, message } = error as { code?: string; sqlMessage?: string; message?: string };
  const said = sqlMessage ?? message ?? code;
  const denied = ['ER_DBACCESS_DENIED_ERROR', 'ER_SPECIFIC_ACCESS_DENIED_ERROR', 'ER_TABLEACCESS_DENIED_ERROR'];
  if (denied.includes(code)) return new BindingError(`The server refuses: ${said}; ${moreRights}.`);
  return new BindingError(`The server refuses, or cannot be reached: ${said}.`);
}
