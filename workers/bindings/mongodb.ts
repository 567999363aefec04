import type { Document, MongoClient } from 'mongodb';
import { tlsName } from '../../runtime/host/service-address.ts';
import { adminOf, BindingError, moreRights, serverLimits, type BoundServer, type ServerTarget } from './server.ts';

/** https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml */
const codes = { userNotFound: 11, unauthorized: 13, authenticationFailed: 18, notImplemented: 238, userExists: 51_003 };

/** Where users with rights on more than one database are. */
const adminDatabase = 'admin';

/**
 * A server that speaks MongoDB's protocol, for bindings. A user belongs to the database that it may use, so that clients
 * which are told nothing else sign in where they work. FerretDB 1.x has users and no rights: its users may do everything.
 * @throws BindingError
 */
export async function openMongodb(target: ServerTarget): Promise<BoundServer> {
  const client = await signedIn(target, [...new Set([target.credentials.database ?? adminDatabase, adminDatabase])]);

  const run = async (database: string, command: Document) => {
    try {
      return await client.db(database).command(command);
    } catch (error) {
      throw refusal(error);
    }
  };
  /** Without the roles where the server has none. */
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
      async has(database) {
        const { databases = [] } = await run(adminDatabase, { listDatabases: 1, nameOnly: true });
        return (databases as { name: string }[]).some(({ name }) => name === database);
      },

      // The first write makes it.
      make: () => Promise.resolve(),

      async drop(database) {
        await run(database, { dropDatabase: 1 });
      },
    },

    async admit({ username, password, database }) {
      try {
        await withRole(database, { createUser: username, pwd: password });
      } catch (error) {
        if (codeOf(error) !== codes.userExists) throw error;
        await withRole(database, { updateUser: username, pwd: password });
      }
    },

    async expel(username, database) {
      await run(database, { dropUser: username }).catch((error: unknown) => {
        if (codeOf(error) !== codes.userNotFound) throw error;
      });
    },

    close: () => client.close(),
  };
}

/** A client whose user belongs to the first of these databases that knows it. */
async function signedIn(target: ServerTarget, sources: readonly string[]): Promise<MongoClient> {
  // Few processes ever need it, and it is large.
  const { MongoClient } = await import('mongodb');
  const { user, password } = adminOf(target.credentials);
  const host = target.address.includes(':') ? `[${target.address}]` : target.address;
  for (const [index, authSource] of sources.entries()) {
    const client = new MongoClient(`mongodb://${host}:${target.port}`, {
      ...{ auth: { username: user, password }, authSource, appName: 'svc-workers', maxPoolSize: 1 },
      // Never to other hosts, which a replica set would name: this one was looked at.
      directConnection: true,
      ...(target.tls && { tls: true, ...tlsName(target.host) }),
      ...{ connectTimeoutMS: serverLimits.connectMs, serverSelectionTimeoutMS: serverLimits.connectMs },
      socketTimeoutMS: serverLimits.statementMs,
    });
    try {
      return await connected(client);
    } catch (error) {
      await client.close();
      if (codeOf(error) !== codes.authenticationFailed || index === sources.length - 1) throw refusal(error);
    }
  }
  throw new Error('there is no database to sign in at');
}

/** The driver would go on trying the one host until its time is up; the queue tries again anyway. */
async function connected(client: MongoClient): Promise<MongoClient> {
  const outcomes = [
    client.connect(),
    new Promise<never>((_, reject) => client.once('serverHeartbeatFailed', ({ failure }) => reject(failure))),
  ];
  // The one that comes second is nobody's.
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

/** Never the driver's own error: it may carry the command. */
function refusal(error: unknown): Refusal {
  const said = error instanceof Error ? error.message : String(error);
  const code = codeOf(error);
  if (code === codes.unauthorized) return new Refusal(`The server refuses: ${said}; ${moreRights}.`, code);
  return new Refusal(`The server refuses, or cannot be reached: ${said}.`, code);
}
