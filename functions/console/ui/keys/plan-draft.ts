import type { PlanView } from '../../../../runtime/contracts/api/plans.ts';

/** The fields of the form of a plan, in its order. */
export const planFields = ['name', 'rate', 'burst', 'quota', 'period'] as const;

/** What the form of a plan has, as texts; the API checks them. */
export type PlanDraft = Readonly<Record<(typeof planFields)[number], string>>;

/** What the form of a plan shows first. */
export function planDraftOf({ name, requestsPerSecond, burst, quota }: PlanView): PlanDraft {
  return {
    name,
    rate: String(requestsPerSecond),
    burst: String(burst),
    quota: quota === undefined ? '' : String(quota.limit),
    period: quota?.period ?? 'day',
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

/** What a plan sets; the quota and its period are one setting. */
const settings = ['name', 'rate', 'burst', 'quota'] as const;

export type PlanSetting = (typeof settings)[number];

/** The settings that differ, in the order of the form. */
export function changedSettings(before: PlanDraft, after: PlanDraft): PlanSetting[] {
  return settings.filter((name) => (name === 'quota' ? !hasSameQuota(before, after) : before[name] !== after[name]));
}

/** Settings as the API has them. */
function bodyOf(names: readonly PlanSetting[], draft: PlanDraft): Record<string, unknown> {
  const entry = (name: PlanSetting): [string, unknown] => {
    if (name === 'quota') return ['quota', quotaOf(draft)];
    if (name === 'rate') return ['requestsPerSecond', Number(draft.rate)];
    return [name, name === 'burst' ? Number(draft.burst) : draft.name];
  };
  return Object.fromEntries(names.map(entry));
}

/**
 * The body of the request that changes what differs and nothing else, so that what others change meanwhile stays. It names
 * what it replaces.
 * @param seen the plan as the user has seen it last
 */
export function changeBody(before: PlanDraft, after: PlanDraft, seen: PlanDraft): Record<string, unknown> {
  const names = changedSettings(before, after);
  return names.length === 0 ? {} : { ...bodyOf(names, after), replaces: bodyOf(names, seen) };
}

/** A setting as the form shows it, for a difference. */
export function settingText(name: PlanSetting, draft: PlanDraft): string {
  return name === 'quota' && draft.quota !== '' ? `${draft.quota}/${draft.period}` : draft[name];
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
