import type { Clock } from '../domain/clock.ts';
import { createFairPlaces, PlacesFull } from '../domain/fair-places.ts';
import type { QueueDefinition } from '../queues/catalogue.ts';
import type { Attempt, Outcome } from './runner.ts';

export interface OwnerShareLimits {
  /** Attempts of one owner at once, in this process. */
  perOwner: number;
  /** How long an attempt of an owner that has not its share waits for a place, in ms. */
  waitMs: number;
  /** When the first attempt that found no place is due again, in ms. */
  soonMs: number;
  /** How much later each further one of the same owner is due, in ms. */
  spacingMs: number;
}

/** Bounds how much of a queue one owner uses at once, so that one owner's slow servers do not hold up those of others. */
export interface OwnerShares {
  /**
   * Runs an attempt if its owner has a free place. While other owners use all places, one attempt of an owner waits for
   * one: owners with the fewest go first. Every other attempt is due again later: those of one owner after each other, so
   * that thousands of them do not keep the queue busy with refusals.
   */
  run(owner: string, work: Pick<Attempt, 'signal'>, attempt: () => Promise<Outcome>): Promise<Outcome>;
}

/** @param queue whose `places` the owners share; half of its other jobs can be attempts that wait */
export function createOwnerShares(
  clock: Pick<Clock, 'now'>,
  { places: total, concurrency }: Required<Pick<QueueDefinition, 'places'>> & Pick<QueueDefinition, 'concurrency'>,
  limits: OwnerShareLimits,
): OwnerShares {
  const { perOwner, waitMs, soonMs, spacingMs } = limits;
  const waitingTotal = Math.floor((concurrency - total) / 2);
  const places = createFairPlaces({ total, perKey: perOwner, waitingPerKey: 1, waitingTotal });
  /** Attempts that run or wait. */
  const active = new Map<string, number>();
  /** When the last attempt that found no place is due, in ms since 1970. An owner without attempts has none. */
  const lastDue = new Map<string, number>();

  const later = (owner: string): Outcome => {
    const now = clock.now().getTime();
    const due = Math.max(now + soonMs, (lastDue.get(owner) ?? 0) + spacingMs);
    if (active.has(owner)) lastDue.set(owner, due);
    return { again: new Date(due) };
  };
  const enter = async (owner: string, signal: AbortSignal) => {
    try {
      return await places.enter(owner, AbortSignal.any([signal, AbortSignal.timeout(waitMs)]));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof PlacesFull || (error instanceof Error && error.name === 'TimeoutError')) return undefined;
      throw error;
    }
  };

  return {
    async run(owner, { signal }, attempt) {
      const count = active.get(owner) ?? 0;
      // An owner that has its share does not wait: its servers decide when it gets a place again.
      if (count >= perOwner) return later(owner);
      active.set(owner, count + 1);
      try {
        const leave = await enter(owner, signal);
        if (!leave) return later(owner);
        try {
          return await attempt();
        } finally {
          leave();
        }
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
