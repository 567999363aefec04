import pg from 'pg';

/** What a {@link RateChannel} calls. */
export interface RateChannelEvents {
  received(message: string): void;
  /** The connection was lost, so that messages of others are, too. May be called repeatedly. */
  lost(): void;
}

/** A connection by which the replicas send messages to each other. */
export interface RateChannel {
  /** Sends messages, each below 8,000 bytes, to all replicas, this one included. All get all messages in one order. */
  send(messages: readonly string[]): Promise<void>;
  /** Closes the connection, even during a call. Never throws. */
  end(): void;
}

/** Opens a channel. This may hang, so use a time-out. */
export type OpenRateChannel = (events: RateChannelEvents) => Promise<RateChannel>;

const channel = 'rates';
const statementTimeoutMs = 5_000;
/**
 * PostgreSQL keeps all notifications until the slowest listener has read them, so that a replica which hangs without
 * ending its connection would fill the disk.
 */
const unreadLimitMs = 60_000;

/**
 * Messages by LISTEN and NOTIFY of PostgreSQL. They are in no table and not written to disk. The connection is outside
 * any pool, because it listens.
 * @param settings from `connectionSettings`
 */
export function createPostgresRateChannel(settings: pg.ClientConfig): OpenRateChannel {
  return async (events) => {
    const client = new pg.Client({ ...settings, statement_timeout: statementTimeoutMs });
    let ended = false;
    // Without a listener, an error would end the process. It may be emitted repeatedly, and after the end.
    client.on('error', () => !ended && events.lost()).on('end', () => !ended && events.lost());
    client.on('notification', ({ payload }) => {
      if (!ended && payload !== undefined) events.received(payload);
    });
    const end = () => {
      ended = true;
      void client.end().catch(() => undefined);
    };
    try {
      await client.connect();
      // A commit only orders the messages, so it need not wait for the disk.
      await client.query(`SET synchronous_commit = off`);
      await client.query(`SET tcp_user_timeout = ${unreadLimitMs}`);
      await client.query(`LISTEN ${channel}`);
    } catch (error) {
      end();
      throw error;
    }
    return {
      async send(messages) {
        await client.query('SELECT pg_notify($1, message) FROM unnest($2::text[]) AS message', [channel, messages]);
      },
      end,
    };
  };
}
