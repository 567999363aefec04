import pg from 'pg';
import { closeReplica, registerReplica, reportReplica } from '../../runtime/records/gate-replicas.ts';
import type { GateSession, GateStore } from './gate-store.ts';
import { readChanges, readEverything, readHead } from './store-reads.ts';
import { flushUsage } from './store-usage.ts';

/** The server gives a statement up after this; the feed gives up on a connection much sooner. */
const statementTimeoutMs = 30_000;

/**
 * The store over PostgreSQL. A session is a connection outside any pool: one that listens, and that whoever doubts it
 * cuts.
 * @param settings as `connectionSettings` makes them
 */
export function createPostgresStore(settings: pg.ClientConfig): GateStore {
  return {
    async connect(nudge) {
      const client = new pg.Client({
        ...settings,
        statement_timeout: statementTimeoutMs,
        idle_in_transaction_session_timeout: statementTimeoutMs,
      });
      // It may say so more than once, and after its end; unheard, it would end the process.
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
    changes: (question) => readChanges(client, question),
    load: (question, sink) => readEverything(client, question, sink),
    register: (incarnation, name) => registerReplica(client, incarnation, name),
    report: (incarnation, feed) => reportReplica(client, incarnation, feed),
    close: (incarnation) => closeReplica(client, incarnation),
    flush: (incarnation, batch, columns) => flushUsage(client, incarnation, batch, columns),
    end() {
      client.removeAllListeners('notification').removeAllListeners('end').removeAllListeners('error');
      client.on('error', () => undefined);
      // Cuts a statement that hangs.
      void client.end().catch(() => undefined);
    },
  };
}
