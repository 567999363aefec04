import { dayMs, utcDay } from './period.ts';
import { Problem } from './problem.ts';

/** How many UTC days of usage are kept, including today. */
const usageDaysKept = 92;
/** How many of them are in the totals of a key and in the default window. */
const usageDaysShown = 90;

/** The UTC day `days` before `day`. */
export function daysBefore(day: string, days: number): string {
  return utcDay(new Date(Date.parse(`${day}T00:00:00Z`) - days * dayMs));
}

/** The first UTC day of a key's totals. */
export function usageTotalsFrom(now: Date): string {
  return daysBefore(utcDay(now), usageDaysShown - 1);
}

/** UTC days, both inclusive. */
export interface UsageWindow {
  from: string;
  to: string;
}

/**
 * The effective window: `to` defaults to today, `from` to 89 days before `to`, and `from` is moved
 * forward to the earliest day that is kept.
 * @throws Problem `invalid_value` if `from` is after `to`; `usage_expired` if all of it is older than the usage that is kept
 */
export function usageWindow(range: { from?: string | undefined; to?: string | undefined }, now: Date): UsageWindow {
  const today = utcDay(now);
  const to = range.to ?? today;
  const from = range.from ?? daysBefore(to, usageDaysShown - 1);
  if (from > to) {
    throw new Problem('invalid_value', `The window starts on ${from}, after its end on ${to}.`, {
      details: { field: 'from' },
    });
  }
  const earliest = daysBefore(today, usageDaysKept - 1);
  if (to < earliest) {
    throw new Problem(
      'usage_expired',
      `Usage is kept for ${usageDaysKept} days; the earliest kept day is ${earliest}.`,
      { details: { earliest } },
    );
  }
  return { from: from < earliest ? earliest : from, to };
}
