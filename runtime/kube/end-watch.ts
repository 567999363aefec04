import type { Logger } from 'pino';
import type { App } from '../../runtime/contracts/resources/app.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import type { Change, Informer } from '../../runtime/kube/informer.ts';

/** Between tries while the database does not answer. */
const retryMs = 1_000;

export interface RolloutWatchDependencies {
  /** All Apps. */
  informer: Pick<Informer<App>, 'onChange'>;
  /** Makes the work on an app's active deployments due; may fail. */
  nudge: (workloadId: Id) => Promise<unknown>;
  clock: Clock;
  log: Logger;
}

/** Wakes rollouts when something became of their release. */
export interface RolloutWatch {
  /** Before the informer starts, so that it hears of every App that is there already. */
  start(): void;
  stop(): Promise<void>;
}

/**
 * Nudges the rollouts of an App when its release came to an end, when it is deleted, and once for each App at the start.
 * A nudge that fails is repeated until it succeeds, since nothing else looks before the rollout's deadline.
 */
export function createRolloutWatch({ informer, nudge, clock, log }: RolloutWatchDependencies): RolloutWatch {
  const stopping = new AbortController();
  const pending = new Set<Id>();
  let running: Promise<void> | undefined;
  let unsubscribe: (() => void) | undefined;

  const drain = async () => {
    let failing = false;
    while (pending.size > 0 && !stopping.signal.aborted) {
      for (const workloadId of pending) {
        if (stopping.signal.aborted) return;
        // Before the nudge: a change that comes while it runs asks for another one.
        pending.delete(workloadId);
        try {
          await nudge(workloadId);
          failing = false;
        } catch (error) {
          pending.add(workloadId);
          if (!failing) log.warn({ err: error }, 'rollouts could not be woken');
          failing = true;
          await clock.sleep(retryMs, stopping.signal).catch(() => undefined);
        }
      }
    }
  };

  const ask = (workloadId: Id) => {
    pending.add(workloadId);
    running ??= drain().finally(() => {
      running = undefined;
    });
  };

  return {
    start() {
      unsubscribe ??= informer.onChange((change) => {
        const workloadId = change.object.metadata.labels?.[idLabel];
        if (workloadId !== undefined && isEnd(change)) ask(workloadId);
      });
    },
    async stop() {
      stopping.abort();
      unsubscribe?.();
      await running;
    },
  };
}

function isEnd({ type, object, previous }: Change<App>): boolean {
  if (type === 'deleted') return true;
  if (object.metadata.deletionTimestamp !== undefined && previous?.metadata.deletionTimestamp === undefined)
    return true;
  const release = object.status?.release;
  if (release === undefined || release.phase === 'progressing') return false;
  const before = previous?.status?.release;
  return before?.deploymentId !== release.deploymentId || before.phase !== release.phase;
}
