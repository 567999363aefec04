import pg from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../domain/clock.ts';
import { connectionSettings, type DatabaseAddress } from './connection.ts';

/** Interval of checks: a connection that only listens would not notice that its server is down. */
const checkEveryMs = 10_000;
const checkLimitMs = 5_000;
const retryMinMs = 250;
const retryMaxMs = 5_000;

export interface ListenerOptions extends DatabaseAddress {
  /** The channel of NOTIFY; a plain identifier. */
  channel: string;
  /**
   * Called for every notification, and once after every (re)connection, because notifications may have been missed.
   * This is only a hint: callers have to poll as well.
   */
  onNotify: (payload: string | undefined) => void;
  clock: Clock;
  log: Logger;
}

/** A LISTEN that reconnects forever. */
export interface Listener {
  start(): void;
  stop(): Promise<void>;
}

/** Listens on its own connection, which it checks every 10 s and reopens when it breaks. */
export function createListener({ channel, onNotify, clock, log, ...address }: ListenerOptions): Listener {
  const stopping = new AbortController();
  let client: pg.Client | undefined;
  let running: Promise<void> | undefined;

  /**
   * Uses one connection until it breaks.
   * @throws Error when it breaks or the listener stops
   */
  const follow = async (connected: () => void) => {
    const broken = new AbortController();
    const current = new pg.Client({ ...connectionSettings(address), query_timeout: checkLimitMs });
    client = current;
    current.on('error', (error) => broken.abort(error));
    current.on('end', () => broken.abort(new Error('the connection ended')));
    current.on('notification', ({ payload }) => onNotify(payload));
    try {
      await current.connect();
      await current.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
      connected();
      onNotify(undefined);
      for (;;) {
        await clock.sleep(checkEveryMs, AbortSignal.any([broken.signal, stopping.signal]));
        await current.query('SELECT 1');
      }
    } finally {
      client = undefined;
      void current.end().catch(() => undefined);
    }
  };

  const run = async () => {
    let failures = 0;
    while (!stopping.signal.aborted) {
      try {
        await follow(() => {
          if (failures > 0) log.info({ channel }, 'listening again');
          failures = 0;
        });
      } catch (error) {
        if (stopping.signal.aborted) return;
        if (failures === 0) log.warn({ err: error, channel }, 'listening failed');
        const limit = Math.min(retryMaxMs, retryMinMs * 2 ** failures);
        failures++;
        await clock.sleep(limit / 2 + Math.random() * (limit / 2), stopping.signal).catch(() => undefined);
      }
    }
  };

  return {
    start() {
      running ??= run();
    },
    async stop() {
      stopping.abort();
      // Not awaited: a server that is down never confirms it.
      void client?.end().catch(() => undefined);
      await running;
    },
  };
}
