import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import pg from 'pg';
import { shortened } from '../../runtime/contracts/resources/bound-database.ts';
import { tlsName } from '../../runtime/services/tls-name.ts';
import { limitAnswers } from '../../runtime/services/answer-limit.ts';
import { createPostgresClient } from '../../runtime/services/postgres-connection.ts';
import { adminOf, BindingError, grantHint, serverLimits, type BoundServer, type ServerTarget } from './server.ts';

const { escapeIdentifier: identifier, escapeLiteral: literal } = pg;

/** The maximum length of a name in bytes. https://www.postgresql.org/docs/current/sql-syntax-lexical.html#SQL-SYNTAX-IDENTIFIERS */
const nameBytesMax = 63;
/** The databases of every managed server; PUBLIC can connect to them by default. */
const defaultDatabases = ['postgres', 'template1', 'svc'];

/** Connections of the registered admin to a server. */
interface Session {
  /** Runs a statement in the admin's database. */
  run(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** Runs statements in another database, on a connection of their own. */
  runIn(database: string, statements: readonly string[]): Promise<void>;
  end(): Promise<void>;
}

/** @throws BindingError, as all functions of the session do */
async function openSession(target: ServerTarget): Promise<Session> {
  const limit = limitAnswers();
  const open = async (database: string) => {
    const client = createPostgresClient(
      {
        host: target.address,
        port: target.port,
        database,
        ...adminOf(target.credentials),
        ssl: target.tls && tlsName(target.host),
        application_name: 'svc-workers',
        connectionTimeoutMillis: serverLimits.connectMs,
        statement_timeout: serverLimits.statementMs,
        query_timeout: serverLimits.statementMs + serverLimits.connectMs,
      },
      limit,
    );
    await client.connect().catch((error: unknown) => {
      throw toBindingError(error);
    });
    return client;
  };
  const query = async (client: pg.Client, text: string, values: readonly unknown[] = []) => {
    limit.reset();
    try {
      return (await client.query<Record<string, unknown>>(text, [...values])).rows;
    } catch (error) {
      throw toBindingError(error);
    }
  };
  const admin = await open(target.credentials.database ?? 'postgres');
  return {
    run: (text, values) => query(admin, text, values),
    async runIn(database, statements) {
      const client = await open(database);
      try {
        for (const statement of statements) await query(client, statement);
      } finally {
        await client.end();
      }
    },
    end: () => admin.end(),
  };
}

/**
 * A PostgreSQL server for bindings. Objects in a database belong to a role `<database>_owner` without login, which is the
 * session role of each user of the database. So deleting a user changes no owner. @throws BindingError
 */
export async function openPostgres(target: ServerTarget): Promise<BoundServer> {
  const session = await openSession(target);
  const run: Session['run'] = (text, values) => session.run(text, values);
  const [self] = await run(`SELECT rolname AS name, rolsuper AS super FROM pg_roles WHERE rolname = current_user`);
  const superuser = self?.['super'] === true;

  const findRole = async (name: string) =>
    (await run(`SELECT rolcanlogin AS login FROM pg_roles WHERE rolname = $1`, [name]))[0];
  const ownerOf = async (database: string) => {
    const [row] = await run(
      `SELECT pg_get_userbyid(datdba) AS owner FROM pg_database WHERE datname = $1 AND datallowconn`,
      [database],
    );
    return row?.['owner'] as string | undefined;
  };
  /** An admin that is not a superuser can grant or change only roles that it is a member of. */
  const joinRole = async (role: string) => {
    if (!superuser) await run(`GRANT ${identifier(role)} TO CURRENT_USER`);
  };
  const ensureUser = async (username: string, password: string) => {
    const options = `LOGIN PASSWORD ${literal(scramVerifier(password))}`;
    const verb = (await findRole(username)) ? 'ALTER' : 'CREATE';
    await run(`${verb} ROLE ${identifier(username)} ${options}`);
  };

  return {
    databases: {
      exists: async (database) => (await ownerOf(database)) !== undefined,

      async create(database) {
        const owner = ownerRole(database);
        const role = await findRole(owner);
        if (role?.['login'] === true) {
          throw new BindingError(`The server already has a user "${owner}"; bind with another --database.`);
        }
        if (!role) await run(`CREATE ROLE ${identifier(owner)} NOLOGIN`);
        await joinRole(owner);
        if ((await ownerOf(database)) === undefined) {
          await run(`CREATE DATABASE ${identifier(database)} OWNER ${identifier(owner)}`);
        }
        await run(`REVOKE ALL ON DATABASE ${identifier(database)} FROM PUBLIC`);
        if (!target.managed) return;
        for (const name of defaultDatabases) await run(`REVOKE ALL ON DATABASE ${identifier(name)} FROM PUBLIC`);
      },

      async drop(database) {
        await run(`DROP DATABASE IF EXISTS ${identifier(database)} WITH (FORCE)`);
        await run(`DROP ROLE IF EXISTS ${identifier(ownerRole(database))}`);
      },
    },

    async putUser({ username, password, database, owner }) {
      await ensureUser(username, password);
      const user = identifier(username);
      if (owner) {
        const role = ownerRole(database);
        await run(`GRANT ${identifier(role)} TO ${user}`);
        await run(`ALTER ROLE ${user} IN DATABASE ${identifier(database)} SET role = ${literal(role)}`);
        return;
      }
      await run(`GRANT CONNECT, TEMPORARY ON DATABASE ${identifier(database)} TO ${user}`);
      const databaseOwner = identifier((await ownerOf(database)) ?? '');
      await session.runIn(database, [grantExisting(user), ...grantFuture(databaseOwner, user)]);
    },

    async deleteUser(username, database) {
      if (!(await findRole(username))) return;
      const user = identifier(username);
      await run(`ALTER ROLE ${user} NOLOGIN`);
      await joinRole(username);
      await run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1`, [username]);
      const databaseOwner = await ownerOf(database);
      if (databaseOwner !== undefined) {
        await session.runIn(database, [
          `REASSIGN OWNED BY ${user} TO ${identifier(databaseOwner)}`,
          `DROP OWNED BY ${user}`,
        ]);
      }
      await run(`DROP ROLE ${user}`);
    },

    close: () => session.end(),
  };
}

function ownerRole(database: string): string {
  return shortened(roleName(`${database}_owner`), nameBytesMax);
}

/** Adds a prefix to a name that PostgreSQL reserves. Pure. https://www.postgresql.org/docs/current/sql-createrole.html */
export function roleName(name: string): string {
  return name.startsWith('pg_') ? `svc_${name}` : name;
}

/** Access to the rows of all existing tables, except those in system schemas. */
function grantExisting(user: string): string {
  return `DO $grants$ DECLARE name text; BEGIN
    FOR name IN SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema' LOOP
      EXECUTE format('GRANT USAGE ON SCHEMA %I TO ${user}', name);
      EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO ${user}', name);
      EXECUTE format('GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA %I TO ${user}', name);
    END LOOP; END $grants$`;
}

/** The same access to tables that the owner creates later. */
function grantFuture(owner: string, user: string): string[] {
  const privileges = ['USAGE ON SCHEMAS', 'SELECT, INSERT, UPDATE, DELETE ON TABLES', 'USAGE, SELECT ON SEQUENCES'];
  return privileges.map((privilege) => `ALTER DEFAULT PRIVILEGES FOR ROLE ${owner} GRANT ${privilege} TO ${user}`);
}

/** The form in which a server stores a password. Sending it keeps the password out of the server's logs. RFC 5803 */
function scramVerifier(password: string): string {
  const iterations = 4096;
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256');
  const hmac = (value: string) => createHmac('sha256', salted).update(value).digest();
  const stored = createHash('sha256').update(hmac('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${stored}:${hmac('Server Key').toString('base64')}`;
}

/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
function toBindingError(error: unknown): BindingError {
  const { code, message } = error as { code?: string; message?: string };
  const reason = message ?? String(error);
  if (code === '42501') return new BindingError(`The server denied access: ${reason}; ${grantHint}.`);
  return new BindingError(`The server refused the request or is unreachable: ${reason}.`);
}
