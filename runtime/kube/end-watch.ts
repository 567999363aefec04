import type { Logger } from 'pino';
import type { KubeObject } from '../contracts/kubernetes.ts';
import type { Clock } from '../domain/clock.ts';
import type { Id } from '../domain/ids.ts';
import { idLabel } from '../domain/labels.ts';
import type { Change, Informer } from './informer.ts';

/** Between tries while the database does not answer. */
const retryMs = 1_000;

export interface EndWatchOptions<T extends KubeObject> {
  /** All objects that work waits for. */
  informer: Pick<Informer<T>, 'onChange'>;
  /** Whether a change is what is waited for. */
  isEnd: (change: Change<T>) => boolean;
  /** Makes the work due that waits for the object of this id; may fail. */
  nudge: (id: Id) => Promise<unknown>;
  clock: Clock;
  log: Logger;
}

/** Wakes work when something became of what it waits for. */
export interface EndWatch {
  /** Before the informer starts, so that it hears of every object that is there already. */
  start(): void;
  stop(): Promise<void>;
}

/**
 * Nudges the work on an object when that came to its end, and once for each that had before. A nudge that fails is
 * repeated until it succeeds, since nothing else may look for long.
 */
export function createEndWatch<T extends KubeObject>(options: EndWatchOptions<T>): EndWatch {
  const { informer, isEnd, nudge, clock, log } = options;
  const stopping = new AbortController();
  const pending = new Set<Id>();
  let running: Promise<void> | undefined;
  let unsubscribe: (() => void) | undefined;

  const drain = async () => {
    let failing = false;
    while (pending.size > 0 && !stopping.signal.aborted) {
      for (const id of pending) {
        if (stopping.signal.aborted) return;
        // Before the nudge: a change that comes while it runs asks for another one.
        pending.delete(id);
        try {
          await nudge(id);
          failing = false;
        } catch (error) {
          pending.add(id);
          if (!failing) log.warn({ err: error }, 'work could not be woken');
          failing = true;
          await clock.sleep(retryMs, stopping.signal).catch(() => undefined);
        }
      }
    }
  };

  const ask = (id: Id) => {
    pending.add(id);
    running ??= drain().finally(() => {
      running = undefined;
    });
  };

  return {
    start() {
      unsubscribe ??= informer.onChange((change) => {
        const id = change.object.metadata.labels?.[idLabel];
        if (id !== undefined && isEnd(change)) ask(id);
      });
    },
    async stop() {
      stopping.abort();
      unsubscribe?.();
      await running;
    },
  };
}
