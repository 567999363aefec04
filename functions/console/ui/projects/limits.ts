import type { EnvironmentView } from '../../../../runtime/contracts/api/projects.ts';

/** The limits of an environment, in the order of the form. */
export const limitFields = ['cpu', 'memory', 'storage', 'containerMemory', 'pods'] as const;

type LimitField = (typeof limitFields)[number];

/** What the form of the limits has, as texts; an empty one is the default of the installation. The API checks them. */
export type Limits = Readonly<Record<LimitField, string>>;

/** The limits that the form shows first. */
export function limitsOf({ limits }: EnvironmentView): Limits {
  return Object.fromEntries(limitFields.map((field) => [field, String(limits?.[field] ?? '')])) as Limits;
}

const changedFields = (before: Limits, after: Limits) =>
  limitFields.filter((field) => before[field] !== after[field].trim());

/** The limits that differ and no others, so that what others change meanwhile stays; null restores the default. */
export function changedLimits(before: Limits, after: Limits): Record<string, string | number | null> {
  const valueOf = (field: LimitField) => {
    const value = after[field].trim();
    if (value === '') return null;
    return field === 'pods' ? Number(value) : value;
  };
  return Object.fromEntries(changedFields(before, after).map((field) => [field, valueOf(field)]));
}

/** The flags of the command that makes the same change. */
export function limitFlags(before: Limits, after: Limits): string[] {
  return changedFields(before, after).flatMap((field) => [
    field === 'containerMemory' ? '--container-memory' : `--${field}`,
    after[field].trim() || 'default',
  ]);
}
