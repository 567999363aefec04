import type { CallHandlers } from '../../runtime/process/client-calls.ts';
import { openServer, type BoundType } from './open-server.ts';
import type { Account, BoundServer, Databases, ServerTarget } from './server.ts';

/** What a client process does for `createRemoteServers`: one server at a time. */
export function serveServers(): CallHandlers {
  let server: BoundServer | undefined;
  const opened = (): BoundServer => {
    if (server) return server;
    throw new Error('No server is open.');
  };
  const databases = (): Databases => {
    const operations = opened().databases;
    if (operations) return operations;
    throw new Error('The server has no databases.');
  };
  const nameIn = (parameters: unknown) => (parameters as { name: string }).name;

  return {
    async openServer(parameters) {
      const { type, target } = parameters as { type: BoundType; target: ServerTarget };
      server = await openServer(type, target, '');
      return { databases: server.databases !== undefined, bucketEvents: server.setBucketEvents !== undefined };
    },
    databaseExists: async (parameters) => (await databases().exists(nameIn(parameters))) ?? null,
    createDatabase: (parameters) => databases().create(nameIn(parameters)),
    dropDatabase: (parameters) => databases().drop(nameIn(parameters)),
    putUser: (parameters) => opened().putUser(parameters as Account),
    deleteUser(parameters) {
      const { username, database } = parameters as { username: string; database: string };
      return opened().deleteUser(username, database);
    },
    async setBucketEvents(parameters) {
      const { bucket, enabled } = parameters as { bucket: string; enabled: boolean };
      return opened().setBucketEvents?.(bucket, enabled);
    },
    async closeServer() {
      await server?.close();
      server = undefined;
    },
  };
}
