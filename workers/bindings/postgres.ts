import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import pg from 'pg';
import { shortened } from '../../runtime/contracts/resources/bound-database.ts';
import { tlsName } from '../../runtime/host/service-address.ts';
import { adminOf, BindingError, moreRights, serverLimits, type BoundServer, type ServerTarget } from './server.ts';

const { escapeIdentifier: identifier, escapeLiteral: literal } = pg;

/** Of a name, in bytes. https://www.postgresql.org/docs/current/sql-syntax-lexical.html#SQL-SYNTAX-IDENTIFIERS */
const nameMax = 63;
/** The databases that every server of the platform has; PUBLIC may enter them unless told otherwise. */
const ownDatabases = ['postgres', 'template1', 'svc'];

/**
 * A PostgreSQL server for bindings. What is made in a database belongs to a role `<database>_owner` that nobody signs in
 * with, and that the users of the database are from their first statement on: users come and go, and nothing has to
 * change hands. @throws BindingError
 */
export async function openPostgres(target: ServerTarget): Promise<BoundServer> {
  const open = async (database: string) => {
    const client = new pg.Client({
      ...{ host: target.address, port: target.port, database, ...adminOf(target.credentials) },
      ssl: target.tls && tlsName(target.host),
      application_name: 'svc-workers',
      connectionTimeoutMillis: serverLimits.connectMs,
      statement_timeout: serverLimits.statementMs,
      query_timeout: serverLimits.statementMs + serverLimits.connectMs,
    });
    // The server may go between two statements; the next one says so.
    client.on('error', () => undefined);
    await client.connect().catch((error: unknown) => {
      throw refusal(error);
    });
    return client;
  };
  const admin = await open(target.credentials.database ?? 'postgres');

  const run = async (text: string, values: readonly unknown[] = [], client = admin) => {
    try {
      return (await client.query<Record<string, unknown>>(text, [...values])).rows;
    } catch (error) {
      throw refusal(error);
    }
  };
  const inside = async (database: string, statements: readonly string[]) => {
    const client = await open(database);
    try {
      for (const statement of statements) await run(statement, [], client);
    } finally {
      await client.end();
    }
  };
  const [self] = await run(`SELECT rolname AS name, rolsuper AS super FROM pg_roles WHERE rolname = current_user`);
  const superuser = self?.['super'] === true;

  const roleOf = async (name: string) =>
    (await run(`SELECT rolcanlogin AS login FROM pg_roles WHERE rolname = $1`, [name]))[0];
  const ownerOf = async (database: string) => {
    const [row] = await run(
      `SELECT pg_get_userbyid(datdba) AS owner FROM pg_database WHERE datname = $1 AND datallowconn`,
      [database],
    );
    return row?.['owner'] as string | undefined;
  };
  /** Who is no superuser gives away only what it has itself. */
  const join = async (role: string) => {
    if (!superuser) await run(`GRANT ${identifier(role)} TO CURRENT_USER`);
  };
  const ensureUser = async (username: string, password: string) => {
    const how = `LOGIN PASSWORD ${literal(scramVerifier(password))}`;
    const verb = (await roleOf(username)) ? 'ALTER' : 'CREATE';
    await run(`${verb} ROLE ${identifier(username)} ${how}`);
  };

  return {
    databases: {
      has: async (database) => (await ownerOf(database)) !== undefined,

      async make(database) {
        const owner = ownerRole(database);
        const role = await roleOf(owner);
        if (role?.['login'] === true) {
          throw new BindingError(`The server has a user "${owner}" already; bind with another --database.`);
        }
        if (!role) await run(`CREATE ROLE ${identifier(owner)} NOLOGIN`);
        await join(owner);
        if ((await ownerOf(database)) === undefined) {
          await run(`CREATE DATABASE ${identifier(database)} OWNER ${identifier(owner)}`);
        }
        await run(`REVOKE ALL ON DATABASE ${identifier(database)} FROM PUBLIC`);
        if (!target.own) return;
        for (const each of ownDatabases) await run(`REVOKE ALL ON DATABASE ${identifier(each)} FROM PUBLIC`);
      },

      async drop(database) {
        await run(`DROP DATABASE IF EXISTS ${identifier(database)} WITH (FORCE)`);
        await run(`DROP ROLE IF EXISTS ${identifier(ownerRole(database))}`);
      },
    },

    async admit({ username, password, database, owner }) {
      await ensureUser(username, password);
      const user = identifier(username);
      if (owner) {
        const role = ownerRole(database);
        await run(`GRANT ${identifier(role)} TO ${user}`);
        await run(`ALTER ROLE ${user} IN DATABASE ${identifier(database)} SET role = ${literal(role)}`);
        return;
      }
      await run(`GRANT CONNECT, TEMPORARY ON DATABASE ${identifier(database)} TO ${user}`);
      const holder = identifier((await ownerOf(database)) ?? '');
      await inside(database, [schemaRights(user), ...futureRights(holder, user)]);
    },

    async expel(username, database) {
      if (!(await roleOf(username))) return;
      const user = identifier(username);
      await run(`ALTER ROLE ${user} NOLOGIN`);
      await join(username);
      await run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1`, [username]);
      const holder = await ownerOf(database);
      if (holder !== undefined) {
        await inside(database, [`REASSIGN OWNED BY ${user} TO ${identifier(holder)}`, `DROP OWNED BY ${user}`]);
      }
      await run(`DROP ROLE ${user}`);
    },

    close: () => admin.end(),
  };
}

function ownerRole(database: string): string {
  return shortened(roleName(`${database}_owner`), nameMax);
}

/** A role cannot be called as the server's own are. Pure. https://www.postgresql.org/docs/current/sql-createrole.html */
export function roleName(name: string): string {
  return name.startsWith('pg_') ? `svc_${name}` : name;
}

/** The rows of all tables that there are, in every schema but the server's own. */
function schemaRights(user: string): string {
  return `DO $rights$ DECLARE place text; BEGIN
    FOR place IN SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema' LOOP
      EXECUTE format('GRANT USAGE ON SCHEMA %I TO ${user}', place);
      EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO ${user}', place);
      EXECUTE format('GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA %I TO ${user}', place);
    END LOOP; END $rights$`;
}

/** The same of what the owner of the database makes later. */
function futureRights(holder: string, user: string): string[] {
  const rights = ['USAGE ON SCHEMAS', 'SELECT, INSERT, UPDATE, DELETE ON TABLES', 'USAGE, SELECT ON SEQUENCES'];
  return rights.map((right) => `ALTER DEFAULT PRIVILEGES FOR ROLE ${holder} GRANT ${right} TO ${user}`);
}

/** What a server keeps of a password, so that the password itself is in none of its logs. RFC 5803 */
function scramVerifier(password: string): string {
  const iterations = 4096;
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256');
  const hmac = (value: string) => createHmac('sha256', salted).update(value).digest();
  const stored = createHash('sha256').update(hmac('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${stored}:${hmac('Server Key').toString('base64')}`;
}

/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
function refusal(error: unknown): BindingError {
  const { code, message } = error as { code?: string; message?: string };
  const said = message ?? String(error);
  if (code === '42501') return new BindingError(`The server refuses: ${said}; ${moreRights}.`);
  return new BindingError(`The server refuses, or cannot be reached: ${said}.`);
}
