import type { Pool } from 'pg';
import { hasEnded } from '../../runtime/domain/deployment.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { getDeployment, type Deployment } from '../../runtime/records/deployments.ts';

/** A notification that is lost is made up for after so long. */
const lookEveryMs = 15_000;

/** Where PostgreSQL tells of ended deployments; a trigger does, whichever process wrote the end. */
export const deploymentEndsChannel = 'deployment_ends';

/** Waits for ends of deployments, without asking again and again. */
export interface DeploymentEnds {
  /** Of a listener on {@link deploymentEndsChannel}. */
  notified(payload: string | undefined): void;
  /**
   * The deployment as it is when it has ended, `ms` are over, `signal` is aborted or this stops: whichever comes first.
   * Undefined when there is none.
   */
  wait(id: Id, ms: number, signal: AbortSignal): Promise<Deployment | undefined>;
  /** Lets everybody go who waits. */
  stop(): void;
}

export function createDeploymentEnds({ pool, clock }: { pool: Pool; clock: Clock }): DeploymentEnds {
  const stopping = new AbortController();
  const waiting = new Map<Id, Set<() => void>>();

  const wake = (id: Id) => {
    for (const each of waiting.get(id) ?? []) each();
  };

  return {
    notified(payload) {
      if (payload !== undefined) wake(payload);
      // Connected anew: what happened meanwhile was told to nobody.
      else for (const id of waiting.keys()) wake(id);
    },
    async wait(id, ms, signal) {
      const deadline = clock.monotonic() + ms;
      let told: AbortController;
      const tell = () => told.abort();
      const others = waiting.get(id) ?? new Set();
      waiting.set(id, others.add(tell));
      try {
        for (;;) {
          // Before the look: an end that comes right after it is told to this one.
          told = new AbortController();
          const found = await getDeployment(pool, id);
          const left = deadline - clock.monotonic();
          if (!found || hasEnded(found.state) || left <= 0 || signal.aborted || stopping.signal.aborted) return found;
          const any = AbortSignal.any([told.signal, signal, stopping.signal]);
          await clock.sleep(Math.min(left, lookEveryMs), any).catch(() => undefined);
        }
      } finally {
        others.delete(tell);
        if (others.size === 0) waiting.delete(id);
      }
    },
    stop: () => stopping.abort(),
  };
}
