import { periods, type CalendarDay, type Period } from '../../runtime/domain/period.ts';
import type { PlanRow } from './gate-store.ts';
import type { RateLimit } from './rate-limit.ts';

/** The limits that a plan sets for each of its keys. */
export interface GatePlan extends RateLimit {
  /** Maximum allowed requests per period over all replicas; undefined without a quota. */
  quota: { limit: number; period: Period } | undefined;
  /** The `RateLimit-Policy` field; see {@link policyField}. */
  policy: string;
  /** The month of `policy`: the window of a monthly quota depends on the month's length. */
  policyMonth: number;
}

export function createPlan(row: PlanRow): GatePlan {
  const { requestsPerSecond, burst } = row;
  return { requestsPerSecond, burst, quota: quotaOf(row), policy: '', policyMonth: NaN };
}

/** Updates the plan object that its keys share, so that the next verdict of each uses the new limits. */
export function updatePlan(plan: GatePlan, row: PlanRow): void {
  plan.requestsPerSecond = row.requestsPerSecond;
  plan.burst = row.burst;
  plan.quota = quotaOf(row);
  plan.policyMonth = NaN;
}

/**
 * The `RateLimit-Policy` field (draft-ietf-httpapi-ratelimit-headers-10 §3): `q` requests in `w` seconds. The window of
 * the rate is the time in which an empty burst refills.
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
  // Use this program's own string: V8 optimizes property lookups by it, but not by an equal string from the store.
  const period = periods.find((name) => name === quotaPeriod);
  return quotaLimit === null || period === undefined ? undefined : { limit: quotaLimit, period };
}
