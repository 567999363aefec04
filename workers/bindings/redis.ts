import { createHash } from 'node:crypto';
import { closeRedis, connectRedis } from '../../runtime/services/redis-connection.ts';
import { BindingError, serverLimits, type BoundServer, type ServerTarget } from './server.ts';

/**
 * All commands on keys and channels, but none that read or change the server, its users or other clients, or delete all
 * keys. Client libraries use INFO to find out whether the server has loaded its data.
 * https://redis.io/docs/latest/operate/oss_and_stack/management/security/acl/
 */
const aclRules = ['~*', '&*', '+@all', '-@admin', '-@dangerous', '+info'];

/**
 * A managed Redis server for bindings: a user for each, and keys that all of them share. Changes of users are saved to
 * the server's file at once, because unsaved ones are lost at a restart. @throws BindingError
 */
export async function openRedis({ address, port, credentials }: ServerTarget): Promise<BoundServer> {
  const redis = await connectRedis({
    host: address,
    port,
    connectTimeout: serverLimits.connectMs,
    commandTimeout: serverLimits.statementMs,
    ...(credentials.password !== undefined && { password: credentials.password }),
  }).catch((error: unknown) => {
    throw toBindingError(error);
  });

  const run = async (...words: readonly [string, ...string[]]) => {
    try {
      await redis.call('ACL', ...words);
    } catch (error) {
      throw toBindingError(error);
    }
  };

  return {
    async putUser({ username, password }) {
      // Sending the digest keeps the password out of the server's logs.
      const digest = createHash('sha256').update(password).digest('hex');
      await run('SETUSER', username, 'reset', 'on', `#${digest}`, ...aclRules);
      await run('SAVE');
    },

    async deleteUser(username) {
      // This also closes the user's connections.
      await run('DELUSER', username);
      await run('SAVE');
    },

    close() {
      closeRedis(redis);
      return Promise.resolve();
    },
  };
}

function toBindingError(error: unknown): BindingError {
  const { message, code } = error as { message: string; code?: string };
  return new BindingError(`The server refused the request or is unreachable: ${code ?? message}.`);
}
