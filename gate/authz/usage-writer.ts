import type { Logger } from 'pino';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { GateStore } from './gate-store.ts';
import type { Usage } from './usage.ts';
import { createStoreConnection } from './store-connection.ts';

/** The usage that a killed process loses at most, while the store is available. */
const flushEveryMs = 1_000;
/** A write that takes longer counts as failed; its batch is repeated. */
const flushLimitMs = 10_000;
const retryMaxMs = 5_000;
/**
 * Maximum rows of a batch: 50 ms of work for the store, and less than a millisecond for this process, which serves
 * requests while it waits for the store.
 */
const batchRows = 1_000;
/** For the last writes and the closing, of the 25 s that a process has to stop. */
const stopLimitMs = 5_000;

export interface UsageWriterDependencies {
  store: GateStore;
  usage: Usage;
  clock: Clock;
  log: Logger;
  /** Called for every failed write, for metrics. */
  onFailure?: () => void;
  /**
   * Called when another process has closed this process life; the feed has to renew it before anything can be written.
   */
  onClosed: () => void;
}

/** Writes usage to the store. */
export interface UsageWriter {
  start(): void;
  /** Writes the remaining usage, for up to 5 s, and closes the process life. */
  stop(): Promise<void>;
}

/**
 * Writes usage every second on its own connection, so that writes do not delay the feed. A batch whose outcome is
 * unknown is repeated, which never counts twice.
 */
export function createUsageWriter(dependencies: UsageWriterDependencies): UsageWriter {
  const { store, usage, clock, log, onFailure, onClosed } = dependencies;
  const stopping = new AbortController();
  const ended = new AbortController();
  let running: Promise<void> | undefined;

  const { session, withTimeout, drop } = createStoreConnection({ store, clock, signal: ended.signal });
  /**
   * Writes everything that is unwritten when it begins. What is counted meanwhile is left to the next flush, so that
   * busy keys are written once a second.
   * @returns false when the process life is closed
   */
  const flush = async (): Promise<boolean> => {
    for (let left = usage.pending(); left > 0;) {
      const batch = usage.batch(Math.min(batchRows, left));
      if (!batch) break;
      const connection = await session();
      const { incarnation, number, columns } = batch;
      const writing = connection.flush(incarnation, number, columns);
      if (!(await withTimeout(flushLimitMs, 'writing usage', writing))) return false;
      usage.written(batch);
      left -= columns.days.length;
    }
    return true;
  };

  const run = async () => {
    let failures = 0;
    while (!stopping.signal.aborted) {
      await clock.sleep(Math.min(retryMaxMs, flushEveryMs * 2 ** failures), stopping.signal).catch(() => undefined);
      if (stopping.signal.aborted) return;
      try {
        if (!(await flush())) onClosed();
        if (failures > 0) log.info({ failures }, 'usage writes recovered');
        failures = 0;
      } catch (error) {
        drop();
        onFailure?.();
        if (failures === 0) log.warn({ err: error }, 'usage could not be written');
        else log.debug({ err: error }, 'usage could not be written again');
        failures++;
      }
    }
  };

  return {
    start() {
      running ??= run();
    },
    async stop() {
      if (!running) return;
      stopping.abort();
      const late = clock.sleep(stopLimitMs, ended.signal).then(
        () => ended.abort(),
        () => undefined,
      );
      await running;
      try {
        while (usage.pending() > 0 && (await flush()));
        await withTimeout(stopLimitMs, 'closing the incarnation', (await session()).close(usage.incarnation()));
      } catch (error) {
        onFailure?.();
        log.warn({ err: error, keys: usage.size() }, 'the last usage could not be written');
      }
      ended.abort();
      await late;
      drop();
    },
  };
}
