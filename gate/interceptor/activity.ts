import type { FunctionTraffic } from '../../runtime/contracts/traffic-report.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Target } from './routes.ts';

/** The fields that identify a function. */
type Counted = Pick<Target, 'id' | 'namespace' | 'name'>;

/** Counts the traffic that the scaler reads. Idle times are on the monotonic clock. */
export interface Activity {
  begin(target: Counted): void;
  /** Ends a request that was started with `begin`. */
  end(target: Counted): void;
  inflight(): number;
  /** One entry for every routed function, and for those with requests in flight. */
  report(targets: readonly Counted[]): FunctionTraffic[];
}

interface Count {
  target: Counted;
  inflight: number;
  requests: number;
  lastAt: number;
}

export function createActivity(clock: Clock): Activity {
  const startedAt = clock.monotonic();
  const counts = new Map<string, Count>();
  let total = 0;

  return {
    begin(target) {
      let count = counts.get(target.id);
      if (!count) {
        count = { target, inflight: 0, requests: 0, lastAt: 0 };
        counts.set(target.id, count);
      }
      count.inflight++;
      count.requests++;
      total++;
      count.lastAt = clock.monotonic();
    },
    end(target) {
      const count = counts.get(target.id);
      if (!count) return;
      count.inflight--;
      total--;
      count.lastAt = clock.monotonic();
    },
    inflight: () => total,
    report(targets) {
      const now = clock.monotonic();
      const routed = new Set(targets.map(({ id }) => id));
      for (const [id, count] of counts) if (!routed.has(id) && count.inflight === 0) counts.delete(id);
      const idle = targets.filter(({ id }) => !counts.has(id));
      return [
        ...[...counts.values()].map(({ target, inflight, requests, lastAt }) => ({
          id: target.id,
          namespace: target.namespace,
          name: target.name,
          inflight,
          requests,
          idleMs: inflight > 0 ? 0 : now - lastAt,
        })),
        ...idle.map(({ id, namespace, name }) => ({
          id,
          namespace,
          name,
          inflight: 0,
          requests: 0,
          idleMs: now - startedAt,
        })),
      ];
    },
  };
}
