import type { Document, MongoClient } from 'mongodb';
import { tlsName } from '../../runtime/services/tls-name.ts';
import { adminOf, BindingError, grantHint, serverLimits, type BoundServer, type ServerTarget } from './server.ts';

/** https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml */
const codes = { userNotFound: 11, unauthorized: 13, authenticationFailed: 18, notImplemented: 238, userExists: 51_003 };

/** The database of users with roles on several databases. */
const adminDatabase = 'admin';

/**
 * A server with MongoDB's protocol, for bindings. A user belongs to the database that it can use, so that clients
 * authenticate there by default. FerretDB 1.x has no roles: its users can do everything.
 * @throws BindingError
 */
export async function openMongodb(target: ServerTarget): Promise<BoundServer> {
  const client = await connectAdmin(target, [
    ...new Set([target.credentials.database ?? adminDatabase, adminDatabase]),
  ]);

  const run = async (database: string, command: Document) => {
    try {
      return await client.db(database).command(command);
    } catch (error) {
      throw toRefusal(error);
    }
  };
  /** Retries without the role on a server that has no roles. */
  const withRole = async (database: string, command: Document) => {
    const roles = [{ role: 'readWrite', db: database }];
    try {
      await run(database, { ...command, roles });
    } catch (error) {
      if (codeOf(error) !== codes.notImplemented) throw error;
      await run(database, { ...command, roles: [] });
    }
  };

  return {
    databases: {
      async exists(database) {
        const { databases = [] } = await run(adminDatabase, { listDatabases: 1, nameOnly: true });
        return (databases as { name: string }[]).some(({ name }) => name === database);
      },

      // The first write creates the database.
      create: () => Promise.resolve(),

      async drop(database) {
        await run(database, { dropDatabase: 1 });
      },
    },

    async putUser({ username, password, database }) {
      try {
        await withRole(database, { createUser: username, pwd: password });
      } catch (error) {
        if (codeOf(error) !== codes.userExists) throw error;
        await withRole(database, { updateUser: username, pwd: password });
      }
    },

    async deleteUser(username, database) {
      await run(database, { dropUser: username }).catch((error: unknown) => {
        if (codeOf(error) !== codes.userNotFound) throw error;
      });
    },

    close: () => client.close(),
  };
}

/** @param sources the databases in which the user may be defined; tried in order */
async function connectAdmin(target: ServerTarget, sources: readonly string[]): Promise<MongoClient> {
  // Loaded when needed, because it is large and few installations use it.
  const { MongoClient } = await import('mongodb');
  const { user, password } = adminOf(target.credentials);
  const host = target.address.includes(':') ? `[${target.address}]` : target.address;
  for (const [index, authSource] of sources.entries()) {
    const client = new MongoClient(`mongodb://${host}:${target.port}`, {
      auth: { username: user, password },
      authSource,
      appName: 'svc-workers',
      maxPoolSize: 1,
      // Other members of a replica set have addresses that were not checked.
      directConnection: true,
      ...(target.tls && { tls: true, ...tlsName(target.host) }),
      connectTimeoutMS: serverLimits.connectMs,
      serverSelectionTimeoutMS: serverLimits.connectMs,
      socketTimeoutMS: serverLimits.statementMs,
    });
    try {
      return await connectOnce(client);
    } catch (error) {
      await client.close();
      if (codeOf(error) !== codes.authenticationFailed || index === sources.length - 1) throw toRefusal(error);
    }
  }
  throw new Error('there is no database to sign in at');
}

/** Rejects with the first failure. The driver would retry until its time-out, but the queue retries anyway. */
async function connectOnce(client: MongoClient): Promise<MongoClient> {
  const outcomes = [
    client.connect(),
    new Promise<never>((_, reject) => client.once('serverHeartbeatFailed', ({ failure }) => reject(failure))),
  ];
  // Nothing awaits the slower outcome.
  for (const outcome of outcomes) outcome.catch(() => undefined);
  return Promise.race(outcomes);
}

class Refusal extends BindingError {
  readonly code: number | undefined;

  constructor(message: string, code: number | undefined) {
    super(message);
    this.code = code;
  }
}

function codeOf(error: unknown): number | undefined {
  const { code } = error as { code?: unknown };
  return typeof code === 'number' ? code : undefined;
}

/** Drops the driver's error, which may contain the command and so a password. */
function toRefusal(error: unknown): Refusal {
  const message = error instanceof Error ? error.message : String(error);
  const code = codeOf(error);
  if (code === codes.unauthorized) return new Refusal(`The server denied access: ${message}; ${grantHint}.`, code);
  return new Refusal(`The server refused the request or is unreachable: ${message}.`, code);
}
