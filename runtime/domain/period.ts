/** The periods of a plan's quota, calendar periods in UTC (spec.md §2.1). */
export const periods = ['day', 'week', 'month'] as const;

export type Period = (typeof periods)[number];

const dayMs = 86_400_000;

/** A calendar day in UTC, `YYYY-MM-DD`. */
export function utcDay(date: Date): string {
  return date.toISOString().slice(0, 10);
}

/** The first moment of the period that `date` lies in: of its day, of that week's Monday, or of the month's first day. */
export function periodStart(period: Period, date: Date): Date {
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  if (period === 'month') return utc(year, month, 1);
  return utc(year, month, period === 'week' ? day - ((date.getUTCDay() + 6) % 7) : day);
}

/** The first moment after the period that `date` lies in. */
export function periodEnd(period: Period, date: Date): Date {
  const start = periodStart(period, date);
  if (period === 'month') return utc(start.getUTCFullYear(), start.getUTCMonth() + 1, 1);
  return new Date(start.getTime() + (period === 'week' ? 7 : 1) * dayMs);
}

/** Whole seconds until the period that `date` lies in is over, at least 1: never too early. */
export function secondsToReset(period: Period, date: Date): number {
  return Math.max(1, Math.ceil((periodEnd(period, date).getTime() - date.getTime()) / 1000));
}

/** The length of the period that `date` lies in, in seconds. */
export function periodSeconds(period: Period, date: Date): number {
  return (periodEnd(period, date).getTime() - periodStart(period, date).getTime()) / 1000;
}

/** `Date.UTC` takes the years 0 to 99 for 1900 to 1999; this does not. */
function utc(year: number, month: number, day: number): Date {
  const date = new Date(0);
  date.setUTCFullYear(year, month, day);
  return date;
}

/** One UTC day and the periods that it lies in; all in milliseconds since the epoch, ends exclusive. */
export interface CalendarDay {
  /** `YYYY-MM-DD`. */
  day: string;
  start: Readonly<Record<Period, number>>;
  end: Readonly<Record<Period, number>>;
}

/** The day of a moment (milliseconds since the epoch), worked out once so that it need not be for every request of it. */
export function calendarDay(wall: number): CalendarDay {
  const date = new Date(wall);
  const moments = (of: (period: Period, date: Date) => Date) => ({
    day: of('day', date).getTime(),
    week: of('week', date).getTime(),
    month: of('month', date).getTime(),
  });
  return { day: utcDay(date), start: moments(periodStart), end: moments(periodEnd) };
}
