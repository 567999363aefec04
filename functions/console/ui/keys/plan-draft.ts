import type { PlanView } from '../../../../runtime/contracts/api/plans.ts';

/** The fields of the form of a plan, in its order. */
export const planFields = ['name', 'rate', 'burst', 'quota', 'period'] as const;

/** What the form of a plan has, as texts; the API checks them. */
export type PlanDraft = Readonly<Record<(typeof planFields)[number], string>>;

/** What the form of a plan shows first. */
export function planDraftOf({ name, requestsPerSecond, burst, quota }: PlanView): PlanDraft {
  return {
    ...{ name, rate: String(requestsPerSecond), burst: String(burst) },
    ...{ quota: quota === undefined ? '' : String(quota.limit), period: quota?.period ?? 'day' },
  };
}

const quotaOf = ({ quota, period }: PlanDraft) => (quota === '' ? null : { limit: Number(quota), period });

/** Whether the quota is the same; without one, the period does not matter. */
const hasSameQuota = (before: PlanDraft, after: PlanDraft) =>
  before.quota === after.quota && (after.quota === '' || before.period === after.period);

/** The body of the request that creates the plan. */
export function createBody(draft: PlanDraft): Record<string, unknown> {
  const { name, rate, burst } = draft;
  const quota = quotaOf(draft);
  return { name, requestsPerSecond: Number(rate), burst: Number(burst), ...(quota && { quota }) };
}

/** The words of the command that creates the same plan. */
export function createWords({ name, rate, burst, quota, period }: PlanDraft): string[] {
  return [
    ...['plan', 'create', name || 'small', '--rate', rate, '--burst', burst],
    ...(quota === '' ? [] : ['--quota', `${quota}/${period}`]),
  ];
}

/** The body of the request that changes what differs and nothing else, so that what others change meanwhile stays. */
export function changeBody(before: PlanDraft, after: PlanDraft): Record<string, unknown> {
  return {
    ...(after.name !== before.name && { name: after.name }),
    ...(after.rate !== before.rate && { requestsPerSecond: Number(after.rate) }),
    ...(after.burst !== before.burst && { burst: Number(after.burst) }),
    ...(!hasSameQuota(before, after) && { quota: quotaOf(after) }),
  };
}

/** The words of the command that makes the same change; without one, of the command that shows the plan. */
export function changeWords(before: PlanDraft, after: PlanDraft): string[] {
  const texts = (['name', 'rate', 'burst'] as const).filter((field) => after[field] !== before[field]);
  const flags = [
    ...texts.flatMap((field) => [`--${field}`, after[field]]),
    ...(hasSameQuota(before, after) ? [] : ['--quota', after.quota === '' ? 'none' : `${after.quota}/${after.period}`]),
  ];
  return flags.length === 0 ? ['plan', 'show', before.name] : ['plan', 'update', before.name, ...flags];
}
