import type { Clock } from '../domain/clock.ts';
import type { Outcome } from './runner.ts';

export interface OwnerShareLimits {
  /** Attempts of one owner at once, in this process. */
  perOwner: number;
  /** When the first attempt that found no place is due again, in ms. */
  soonMs: number;
  /** How much later each further one of the same owner is due, in ms. */
  spacingMs: number;
}

/** Bounds how much of a queue one owner uses at once, so that one owner's slow servers do not hold up those of others. */
export interface OwnerShares {
  /**
   * Runs an attempt if its owner has a free place. Otherwise the attempt is due again later: those of one owner after each
   * other, so that thousands of them do not keep the queue busy with refusals.
   */
  run(owner: string, attempt: () => Promise<Outcome>): Promise<Outcome>;
}

export function createOwnerShares(clock: Pick<Clock, 'now'>, limits: OwnerShareLimits): OwnerShares {
  const { perOwner, soonMs, spacingMs } = limits;
  const active = new Map<string, number>();
  /** When the last attempt that found no place is due, in ms since 1970. An owner without attempts has none. */
  const lastDue = new Map<string, number>();

  return {
    async run(owner, attempt) {
      const count = active.get(owner) ?? 0;
      if (count >= perOwner) {
        const now = clock.now().getTime();
        const due = Math.max(now + soonMs, (lastDue.get(owner) ?? 0) + spacingMs);
        lastDue.set(owner, due);
        return { again: new Date(due) };
      }
      active.set(owner, count + 1);
      try {
        return await attempt();
      } finally {
        const left = (active.get(owner) ?? 1) - 1;
        if (left > 0) active.set(owner, left);
        else {
          active.delete(owner);
          lastDue.delete(owner);
        }
      }
    },
  };
}
