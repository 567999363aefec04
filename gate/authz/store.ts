import pg from 'pg';
import { closeReplica, registerReplica, reportReplica } from '../../runtime/records/gate-replicas.ts';
import type { GateSession, GateStore } from './gate-store.ts';
import { readChanges, readEverything, readHead } from './store-reads.ts';
import { createUsageFlush } from './store-usage.ts';

/** Time-out of a statement on the server. The feed closes a connection much earlier. */
const statementTimeoutMs = 30_000;

/**
 * The store in PostgreSQL. A session has its own connection outside any pool, because it listens and may be closed at
 * any time.
 * @param settings from `connectionSettings`
 */
export function createPostgresStore(settings: pg.ClientConfig): GateStore {
  return {
    async connect(nudge) {
      const client = new pg.Client({
        ...settings,
        statement_timeout: statementTimeoutMs,
        idle_in_transaction_session_timeout: statementTimeoutMs,
      });
      // Without a listener, an error would end the process. It may be emitted repeatedly, and after the end.
      client.on('error', () => nudge?.());
      const session = createSession(client);
      try {
        await client.connect();
        if (nudge) {
          client.on('notification', nudge).on('end', nudge);
          await client.query('LISTEN feed');
        }
      } catch (error) {
        session.end();
        throw error;
      }
      return session;
    },
  };
}

function createSession(client: pg.Client): GateSession {
  return {
    head: (since, incarnation) => readHead(client, since, incarnation),
    changes: (question, sink) => readChanges(client, question, sink),
    load: (question, sink) => readEverything(client, question, sink),
    register: (incarnation, name) => registerReplica(client, incarnation, name),
    report: (incarnation, feed, sharesRates) => reportReplica(client, incarnation, { ...feed, sharesRates }),
    close: (incarnation) => closeReplica(client, incarnation),
    flush: createUsageFlush(client),
    end() {
      client.removeAllListeners('notification').removeAllListeners('end').removeAllListeners('error');
      client.on('error', () => undefined);
      // Also cancels a running statement.
      void client.end().catch(() => undefined);
    },
  };
}
