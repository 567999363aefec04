import type { UsageCounts } from '../../../../runtime/contracts/api/usage.ts';
import { dayMs, utcDay } from '../../../../runtime/domain/period.ts';

type Day = UsageCounts & { day: string };

/** All days of a range, oldest first: the API leaves out those without traffic. Both ends are included. */
export function daysOf(from: string, to: string, days: readonly Day[]): Day[] {
  const byDay = new Map(days.map((day) => [day.day, day]));
  const count = Math.round((Date.parse(to) - Date.parse(from)) / dayMs) + 1;
  return Array.from({ length: count }, (_, index) => {
    const day = utcDay(new Date(Date.parse(from) + index * dayMs));
    return byDay.get(day) ?? { day, allowed: 0, rateDenied: 0, quotaDenied: 0 };
  });
}

/** The top of a scale for values up to `max`: 1, 2 or 5 times a power of ten. */
export function scaleOf(max: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, max)));
  return ([1, 2, 5, 10].find((factor) => factor * power >= max) ?? 10) * power;
}
