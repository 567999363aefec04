import { z } from 'zod';
import { openClient, type ClientErrors } from '../../runtime/process/client-lease.ts';
import type { ClientPool } from '../../runtime/process/client-pool.ts';
import type { OpenServer } from './open-server.ts';
import { BindingError } from './server.ts';

const opened = z.object({ databases: z.boolean(), bucketEvents: z.boolean() });

const errors: ClientErrors = {
  refusal: 'BindingError',
  refused: (message) => new BindingError(message),
  ended: (reason) => new BindingError(`The connection was ended: ${reason}.`),
};

/** Servers that client processes talk to (decision 0037), so that a hostile server ends one of those at most. */
export function createRemoteServers(clients: ClientPool): OpenServer {
  return async (type, target, project) => {
    const first = { method: 'openServer', parameters: { type, target }, result: opened };
    const { client, result } = await openClient(clients, project, errors, first);
    const run = async (method: string, parameters: object) => {
      await client.call(method, parameters, z.unknown());
    };
    return {
      ...(result.databases && {
        databases: {
          async exists(name) {
            return (await client.call('databaseExists', { name }, z.boolean().nullable())) ?? undefined;
          },
          create: (name) => run('createDatabase', { name }),
          drop: (name) => run('dropDatabase', { name }),
        },
      }),
      putUser: (account) => run('putUser', account),
      deleteUser: (username, database) => run('deleteUser', { username, database }),
      ...(result.bucketEvents && {
        setBucketEvents: (bucket: string, enabled: boolean) =>
          client.call('setBucketEvents', { bucket, enabled }, z.boolean()),
      }),
      close: () => client.close('closeServer'),
    };
  };
}
