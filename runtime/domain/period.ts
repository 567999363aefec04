/** The periods of a plan's quota: calendar periods in UTC (docs/reference/gate.md#quotas). */
export const periods = ['day', 'week', 'month'] as const;

export type Period = (typeof periods)[number];

/** A day in milliseconds. */
export const dayMs = 86_400_000;

/** A calendar day in UTC, `YYYY-MM-DD`. */
export function utcDay(date: Date): string {
  return date.toISOString().slice(0, 10);
}

/** The start of the period that contains `date`; weeks start on Monday. */
export function periodStart(period: Period, date: Date): Date {
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  if (period === 'month') return utc(year, month, 1);
  return utc(year, month, period === 'week' ? day - ((date.getUTCDay() + 6) % 7) : day);
}

/** The end of the period that contains `date`, exclusive. */
export function periodEnd(period: Period, date: Date): Date {
  const start = periodStart(period, date);
  if (period === 'month') return utc(start.getUTCFullYear(), start.getUTCMonth() + 1, 1);
  return new Date(start.getTime() + (period === 'week' ? 7 : 1) * dayMs);
}

/** As `Date.UTC`, which reads the years 0 to 99 as 1900 to 1999. */
function utc(year: number, month: number, day: number): Date {
  const date = new Date(0);
  date.setUTCFullYear(year, month, day);
  return date;
}

/** One UTC day and the periods that contain it; in milliseconds since the epoch, ends exclusive. */
export interface CalendarDay {
  /** `YYYY-MM-DD`. */
  day: string;
  start: Readonly<Record<Period, number>>;
  end: Readonly<Record<Period, number>>;
}

/** The day of an instant (milliseconds since the epoch), computed once per day instead of for every request. */
export function calendarDay(wall: number): CalendarDay {
  const date = new Date(wall);
  const moments = (of: (period: Period, date: Date) => Date) => ({
    day: of('day', date).getTime(),
    week: of('week', date).getTime(),
    month: of('month', date).getTime(),
  });
  return { day: utcDay(date), start: moments(periodStart), end: moments(periodEnd) };
}
