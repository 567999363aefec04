import { createHash } from 'node:crypto';
import { connectRedis } from '../../runtime/host/redis-connection.ts';
import { BindingError, serverLimits, type BoundServer, type ServerTarget } from './server.ts';

/**
 * All that a program does with its keys and channels; not what reads or changes the server, its users and its other
 * clients, or deletes everybody's keys. Client libraries ask INFO whether the server has loaded its data.
 * https://redis.io/docs/latest/operate/oss_and_stack/management/security/acl/
 */
const rights = ['~*', '&*', '+@all', '-@admin', '-@dangerous', '+info'];

/**
 * A Redis server that the platform runs, for bindings: a user for each, and keys that all of them share. Users are kept in
 * the server's file at once, since it forgets others at its next start. @throws BindingError
 */
export async function openRedis({ address, port, credentials }: ServerTarget): Promise<BoundServer> {
  const redis = await connectRedis({
    ...{ host: address, port },
    ...{ connectTimeout: serverLimits.connectMs, commandTimeout: serverLimits.statementMs },
    ...(credentials.password !== undefined && { password: credentials.password }),
  }).catch((error: unknown) => {
    throw refusal(error);
  });

  const run = async (...words: readonly [string, ...string[]]) => {
    try {
      await redis.call('ACL', ...words);
    } catch (error) {
      throw refusal(error);
    }
  };

  return {
    async admit({ username, password }) {
      // The server never hears the password, and so has it in none of its logs.
      const digest = createHash('sha256').update(password).digest('hex');
      await run('SETUSER', username, 'reset', 'on', `#${digest}`, ...rights);
      await run('SAVE');
    },

    async expel(username) {
      // This ends its connections, too.
      await run('DELUSER', username);
      await run('SAVE');
    },

    close() {
      redis.disconnect();
      return Promise.resolve();
    },
  };
}

function refusal(error: unknown): BindingError {
  const { message, code } = error as { message: string; code?: string };
  return new BindingError(`The server refuses, or cannot be reached: ${code ?? message}.`);
}
