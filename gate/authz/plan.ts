import { periods, type CalendarDay, type Period } from '../../runtime/domain/period.ts';
import type { PlanRow } from './gate-store.ts';
import type { RateLimit } from './rate-limit.ts';

/** What a plan allows to each of its keys. */
export interface GatePlan extends RateLimit {
  /** Allowed requests in a period, of all replicas together; undefined without a quota. */
  quota: { limit: number; period: Period } | undefined;
  /** The `RateLimit-Policy` field; see {@link policyField}. */
  policy: string;
  /** The month for which it was made, since a quota's window is as long as its month. */
  policyMonth: number;
}

export function createPlan(row: PlanRow): GatePlan {
  const { requestsPerSecond, burst } = row;
  return { requestsPerSecond, burst, quota: quotaOf(row), policy: '', policyMonth: NaN };
}

/** Changes a plan's one object, and so the next verdict of all of its keys. */
export function updatePlan(plan: GatePlan, row: PlanRow): void {
  plan.requestsPerSecond = row.requestsPerSecond;
  plan.burst = row.burst;
  plan.quota = quotaOf(row);
  plan.policyMonth = NaN;
}

/**
 * What the plan allows, as a `RateLimit-Policy` field (draft-ietf-httpapi-ratelimit-headers-10 §3): `q` requests in `w`
 * seconds. The window of the rate is the time in which an empty burst fills up.
 */
export function policyField(plan: GatePlan, calendar: CalendarDay): string {
  if (plan.policyMonth !== calendar.start.month) {
    const { burst, requestsPerSecond, quota } = plan;
    plan.policy = `"rate";q=${burst};w=${Math.max(1, Math.ceil(burst / requestsPerSecond))}`;
    if (quota) {
      const seconds = (calendar.end[quota.period] - calendar.start[quota.period]) / 1000;
      plan.policy += `, "quota";q=${quota.limit};w=${seconds}`;
    }
    plan.policyMonth = calendar.start.month;
  }
  return plan.policy;
}

function quotaOf({ quotaLimit, quotaPeriod }: PlanRow): GatePlan['quota'] {
  // The name as a constant of this program: V8 compiles what looks things up by it for that one string, and over and
  // over again for an equal one that came from the store.
  const period = periods.find((name) => name === quotaPeriod);
  return quotaLimit === null || period === undefined ? undefined : { limit: quotaLimit, period };
}
