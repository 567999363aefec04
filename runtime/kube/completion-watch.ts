import type { Logger } from 'pino';
import type { KubeObject } from '../contracts/kubernetes.ts';
import type { Clock } from '../domain/clock.ts';
import type { Id } from '../domain/ids.ts';
import { idLabel } from '../domain/labels.ts';
import type { Change, Informer } from './informer.ts';

/** Retry delay while the database is unavailable. */
const retryMs = 1_000;

export interface CompletionWatchOptions<T extends KubeObject> {
  /** The objects that work rows wait for. */
  informer: Pick<Informer<T>, 'onChange'>;
  /** Whether a change completes the object. */
  isCompletion: (change: Change<T>) => boolean;
  /** Makes the work rows due that wait for the object with this id; retried when it rejects. */
  wake: (id: Id) => Promise<unknown>;
  clock: Clock;
  log: Logger;
}

/** Wakes work rows when the object that they wait for is complete. */
export interface CompletionWatch {
  /** Call it before the informer starts, so that it sees the existing objects. */
  start(): void;
  stop(): Promise<void>;
}

/**
 * Wakes the work of each object when it completes, and once of each that is complete at the start. A failed call is
 * retried until it succeeds, because the work rows sleep for long.
 */
export function createCompletionWatch<T extends KubeObject>(options: CompletionWatchOptions<T>): CompletionWatch {
  const { informer, isCompletion, wake, clock, log } = options;
  const stopping = new AbortController();
  const pending = new Set<Id>();
  let running: Promise<void> | undefined;
  let unsubscribe: (() => void) | undefined;

  const drain = async () => {
    let failing = false;
    while (pending.size > 0 && !stopping.signal.aborted) {
      for (const id of pending) {
        if (stopping.signal.aborted) return;
        // Deleted before the call, so that a change during the call causes another one.
        pending.delete(id);
        try {
          await wake(id);
          failing = false;
        } catch (error) {
          pending.add(id);
          if (!failing) log.warn({ err: error }, 'cannot wake work');
          failing = true;
          await clock.sleep(retryMs, stopping.signal).catch(() => undefined);
        }
      }
    }
  };

  const enqueue = (id: Id) => {
    pending.add(id);
    running ??= drain().finally(() => {
      running = undefined;
    });
  };

  return {
    start() {
      unsubscribe ??= informer.onChange((change) => {
        const id = change.object.metadata.labels?.[idLabel];
        if (id !== undefined && isCompletion(change)) enqueue(id);
      });
    },
    async stop() {
      stopping.abort();
      unsubscribe?.();
      await running;
    },
  };
}
