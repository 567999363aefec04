import type { Logger } from 'pino';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { GateSession, GateStore } from './gate-store.ts';
import type { Usage } from './usage.ts';
import { within } from './within.ts';

/** What a killed process loses at most, while the store is up. */
export const flushEveryMs = 1_000;
/** A write that takes longer counts as lost; its batch is repeated. */
const flushLimitMs = 10_000;
const connectLimitMs = 5_000;
const retryMaxMs = 5_000;
/** Of one batch: half a second of work for the store, a few milliseconds for this process. */
const batchRows = 10_000;
/** Of the 25 s that a process has for stopping. */
const lastFlushLimitMs = 5_000;

export interface UsageWriterDependencies {
  store: GateStore;
  usage: Usage;
  clock: Clock;
  log: Logger;
  /** Told of every batch that could not be written (yet); for metrics. */
  onFailure?: () => void;
  /** The process life was closed by others: the feed has to renew it before anything can be written. */
  onClosed: () => void;
}

/** Brings the counts of usage to the store. */
export interface UsageWriter {
  start(): void;
  /** Writes what is left, for up to 5 s, and ends the process life. */
  stop(): Promise<void>;
}

/**
 * Writes usage every second, on a connection of its own, so that no write holds up the feed. A batch whose end is not
 * known is repeated; nothing is counted twice by that.
 */
export function createUsageWriter(dependencies: UsageWriterDependencies): UsageWriter {
  const { store, usage, clock, log, onFailure, onClosed } = dependencies;
  const stopping = new AbortController();
  const ended = new AbortController();
  let session: GateSession | undefined;
  let running: Promise<void> | undefined;

  const limited = <T>(ms: number, what: string, work: Promise<T>) =>
    within({ clock, signal: ended.signal, ms, what }, work);

  const open = async (): Promise<GateSession> => {
    const opening = store.connect();
    try {
      session = await limited(connectLimitMs, 'connecting to the store', opening);
      return session;
    } catch (error) {
      void opening.then(
        (late) => late.end(),
        () => undefined,
      );
      throw error;
    }
  };

  const drop = () => {
    session?.end();
    session = undefined;
  };

  /** Writes until nothing is left. False when the process life is closed. */
  const flush = async (): Promise<boolean> => {
    for (let batch = usage.batch(batchRows); batch; batch = usage.batch(batchRows)) {
      const connection = session ?? (await open());
      const { incarnation, number, columns } = batch;
      const writing = connection.flush(incarnation, number, columns);
      if (!(await limited(flushLimitMs, 'writing usage', writing))) return false;
      usage.written(batch);
      // The next second's counts are not this flush's business.
      if (columns.keyIds.length < batchRows) break;
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
        if (failures > 0) log.info({ failures }, 'usage is written again');
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
      const late = clock.sleep(lastFlushLimitMs, ended.signal).then(
        () => ended.abort(),
        () => undefined,
      );
      await running;
      try {
        while (usage.pending() && (await flush()));
        await limited(connectLimitMs, 'closing a process life', (session ?? (await open())).close(usage.incarnation()));
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
