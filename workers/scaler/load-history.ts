import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import type { EventPressure, Load, RequestLoad } from './bands.ts';
import type { Traffic } from './reports.ts';

/** Scaling down, except to the minimum, considers the load of this time. */
const peakWindowMs = 60_000;

/** A load that did not change. */
interface Sample extends RequestLoad {
  backlog: number;
  /** When it was last observed. */
  at: number;
}

interface History {
  since: number;
  /** Oldest first. The load of most functions never changes, so that this is one sample for them. */
  samples: Sample[];
  /** When the backlog was last not empty, or unknown. */
  eventsAt: number;
  /** The last known problem of the event source. */
  problem: string | null;
}

/** The load of functions over the last minute. */
export interface LoadHistory {
  /**
   * Records a sample. @param backlog undefined when it is unknown
   * @returns the load with the peaks of the last minute
   */
  observe(
    functionId: Id,
    traffic: Traffic,
    backlog: number | undefined,
  ): Pick<Load, 'requests' | 'idleMs' | 'peak'> & { events: EventPressure };
  /** Records the problem of an event source. @returns whether it differs from the last one */
  problemChanged(functionId: Id, problem: string | null): boolean;
  /** Forgets all other functions. */
  retain(functionIds: ReadonlySet<string | undefined>): void;
  clear(): void;
}

export function createLoadHistory(clock: Pick<Clock, 'monotonic'>): LoadHistory {
  const histories = new Map<string, History>();

  const historyOf = (functionId: Id): History => {
    const now = clock.monotonic();
    const history = histories.get(functionId) ?? { since: now, samples: [], eventsAt: now, problem: null };
    histories.set(functionId, history);
    return history;
  };

  return {
    observe(functionId, { idleMs, inflight, rate }, backlog) {
      const history = historyOf(functionId);
      const now = clock.monotonic();
      addSample(history.samples, { at: now, inflight, rate, backlog: backlog ?? 0 });
      if (backlog !== 0) history.eventsAt = now;
      const hasFullWindow = now - history.since >= peakWindowMs;
      const peakOf = (what: 'inflight' | 'rate' | 'backlog') =>
        history.samples.reduce((peak, entry) => Math.max(peak, entry[what]), 0);
      return {
        requests: { inflight, rate },
        idleMs,
        peak: hasFullWindow ? { inflight: peakOf('inflight'), rate: peakOf('rate') } : undefined,
        events: { backlog, peak: hasFullWindow ? peakOf('backlog') : undefined, quietMs: now - history.eventsAt },
      };
    },

    problemChanged(functionId, problem) {
      const history = historyOf(functionId);
      const changed = problem !== history.problem;
      history.problem = problem;
      return changed;
    },

    retain(functionIds) {
      for (const id of histories.keys()) if (!functionIds.has(id)) histories.delete(id);
    },

    clear: () => histories.clear(),
  };
}

/** Adds the current load to the samples of the last minute. */
function addSample(samples: Sample[], sample: Sample): void {
  const last = samples.at(-1);
  const { inflight, rate, backlog, at } = sample;
  if (last && last.inflight === inflight && last.rate === rate && last.backlog === backlog) last.at = at;
  else samples.push(sample);
  while (samples[0] && samples[0].at <= at - peakWindowMs) samples.shift();
}
