import { usageFailure } from './failure.ts';
import { parseDuration } from './flags.ts';

/** The forms of `--expires`, for its help. */
export const expiryForms = 'date, time or duration, such as 2027-01-31 or 30d';

/** The expiry for a date (the end of that day in UTC), an RFC 3339 time or a duration from now. @throws Failure (usage) */
export function expiryTime(typed: string, now: Date): string {
  if (/^\d{4}-\d{2}-\d{2}$/.test(typed)) return `${typed}T23:59:59.999Z`;
  const seconds = parseDuration(typed);
  if (seconds !== undefined) return new Date(now.getTime() + seconds * 1000).toISOString();
  if (!/T/.test(typed) || Number.isNaN(Date.parse(typed))) {
    throw usageFailure(`--expires takes a date, an RFC 3339 time or a duration such as 30d, not "${typed}".`);
  }
  return typed;
}
