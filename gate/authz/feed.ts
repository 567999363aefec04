import type { Client } from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../../runtime/domain/clock.ts';
import { continues, readChanges, readHead, readSnapshot, type ChangedRows } from './store.ts';
import type { GateView } from './view.ts';

/** Polls alone keep the view fresh and revocations within seconds; a NOTIFY only makes them faster. */
const pollEveryMs = 1_000;
/** A connection or a poll that takes longer counts as lost: far below the ceiling of 90 s, far above a busy store. */
const pollLimitMs = 5_000;
/** 100,000 keys load in a few seconds. */
const loadLimitMs = 30_000;
const retryMinMs = 250;
const retryMaxMs = 5_000;

export type PollOutcome = 'unchanged' | 'applied' | 'loaded' | 'failed';

export interface FeedDependencies {
  /** A new connection of its own, already connected. It may hang; the feed does not wait for it for long. */
  connect: () => Promise<Client>;
  view: GateView;
  clock: Clock;
  log: Logger;
  /** Told after every attempt; for metrics. */
  observe?: (outcome: PollOutcome) => void;
}

/** Keeps a view current. */
export interface Feed {
  /** Begins to follow; returns at once. Trouble is retried for ever, and shows in the view's age. */
  start(): void;
  stop(): Promise<void>;
}

/** Follows the change feed of design.md §6 on one connection, which it drops and renews whenever in doubt. */
export function createFeed({ connect, view, clock, log, observe }: FeedDependencies): Feed {
  const stopping = new AbortController();
  let client: Client | undefined;
  let running: Promise<void> | undefined;
  let notified = false;
  let wake: (() => void) | undefined;

  const nudge = () => {
    notified = true;
    wake?.();
  };

  /** Waits, but not past a notification or the end. */
  const rest = async (ms: number) => {
    if (notified || stopping.signal.aborted) return;
    const timer = new AbortController();
    wake = () => timer.abort();
    await clock.sleep(ms, timer.signal).catch(() => undefined);
    wake = undefined;
  };

  const within = async <T>(ms: number, what: string, work: Promise<T>): Promise<T> => {
    const timer = new AbortController();
    const late = clock.sleep(ms, AbortSignal.any([timer.signal, stopping.signal])).then(() => {
      throw new Error(`${what} took longer than ${ms} ms`);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      timer.abort();
    }
  };

  const drop = (dropped: Client) => {
    if (client === dropped) client = undefined;
    dropped.off('error', nudge).off('notification', nudge);
    // A connection that is gone already may say so again.
    dropped.on('error', () => undefined);
    // Cuts a statement that hangs.
    void dropped.end().catch(() => undefined);
  };

  const open = async (): Promise<Client> => {
    const opening = connect();
    let opened: Client;
    try {
      opened = await within(pollLimitMs, 'connecting to the store', opening);
    } catch (error) {
      void opening.then(drop, () => undefined);
      throw error;
    }
    client = opened;
    opened.on('error', nudge);
    opened.on('notification', nudge);
    await within(pollLimitMs, 'LISTEN', opened.query('LISTEN feed'));
    return opened;
  };

  /** False when the rows do not fit what the view holds; it is loaded anew then. */
  const applied = (changed: ChangedRows): boolean => {
    try {
      view.apply(changed);
      return true;
    } catch (error) {
      log.error({ err: error }, 'gate view does not hold together');
      return false;
    }
  };

  /** One round: afterwards everything that was committed before it began is in the view. */
  const poll = async (connection: Client): Promise<PollOutcome> => {
    const sent = clock.monotonic();
    const position = view.position();
    let outcome: PollOutcome = 'loaded';
    if (position) {
      const head = await within(pollLimitMs, 'a poll', readHead(connection, position.version));
      requirePrimary(head);
      if (continues(head, position)) {
        if (head.position.version === position.version) {
          view.provenAt(sent);
          return 'unchanged';
        }
        const changed = await within(pollLimitMs, 'reading changes', readChanges(connection, position));
        if (changed) {
          requirePrimary(changed);
          outcome = applied(changed) ? 'applied' : 'loaded';
        }
      }
    }
    if (outcome === 'loaded') {
      const snapshot = await within(loadLimitMs, 'loading', readSnapshot(connection));
      requirePrimary(snapshot);
      view.load(snapshot);
      log.info({ ...view.size(), version: snapshot.position.version }, 'gate view loaded');
    }
    view.provenAt(sent);
    return outcome;
  };

  const follow = async () => {
    let failures = 0;
    while (!stopping.signal.aborted) {
      notified = false;
      try {
        const outcome = await poll(client ?? (await open()));
        if (failures > 0) log.info({ failures }, 'feed recovered');
        failures = 0;
        observe?.(outcome);
        await rest(pollEveryMs);
      } catch (error) {
        if (client) drop(client);
        if (stopping.signal.aborted) return;
        if (failures === 0) log.warn({ err: error }, 'feed failed');
        else log.debug({ err: error }, 'feed failed again');
        const limit = Math.min(retryMaxMs, retryMinMs * 2 ** failures);
        failures++;
        observe?.('failed');
        // The connection that went may have left a nudge behind; it must not turn this into a busy loop.
        notified = false;
        await rest(limit / 2 + Math.random() * (limit / 2));
      }
    }
  };

  return {
    start() {
      running ??= follow();
    },
    async stop() {
      stopping.abort();
      wake?.();
      if (client) drop(client);
      await running;
    },
  };
}

/** A standby may be behind: nothing that it says proves anything. */
function requirePrimary({ primary }: { primary: boolean }): void {
  if (!primary) throw new Error('the store answered from a standby');
}
