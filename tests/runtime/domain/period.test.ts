import t from 'tap';
import { calendarDay, periodEnd, periodStart, periods, utcDay } from '../../../runtime/domain/period.ts';

const iso = (date: Date) => date.toISOString().replace('T00:00:00.000Z', '');

t.test('periods are calendar periods in UTC', (t) => {
  // Moment; the day, the week from Monday and the month that contain it, each with the first day after it.
  const table: [string, string[], string[], string[]][] = [
    ['2026-03-04T12:00:00Z', ['2026-03-04', '2026-03-05'], ['2026-03-02', '2026-03-09'], ['2026-03-01', '2026-04-01']],
    ['2026-03-02T00:00:00Z', ['2026-03-02', '2026-03-03'], ['2026-03-02', '2026-03-09'], ['2026-03-01', '2026-04-01']],
    [
      '2026-03-01T23:59:59.999Z',
      ['2026-03-01', '2026-03-02'],
      ['2026-02-23', '2026-03-02'],
      ['2026-03-01', '2026-04-01'],
    ],
    [
      '2025-12-31T23:00:00-02:00',
      ['2026-01-01', '2026-01-02'],
      ['2025-12-29', '2026-01-05'],
      ['2026-01-01', '2026-02-01'],
    ],
    [
      '2028-02-29T01:00:00+02:00',
      ['2028-02-28', '2028-02-29'],
      ['2028-02-28', '2028-03-06'],
      ['2028-02-01', '2028-03-01'],
    ],
    ['2026-12-31T00:00:00Z', ['2026-12-31', '2027-01-01'], ['2026-12-28', '2027-01-04'], ['2026-12-01', '2027-01-01']],
    // Clocks change in Europe that night, not in UTC.
    ['2026-03-29T01:30:00Z', ['2026-03-29', '2026-03-30'], ['2026-03-23', '2026-03-30'], ['2026-03-01', '2026-04-01']],
    ['0099-01-01T00:00:00Z', ['0099-01-01', '0099-01-02'], ['0098-12-29', '0099-01-05'], ['0099-01-01', '0099-02-01']],
  ];
  for (const [text, ...expected] of table) {
    const date = new Date(text);
    t.same(
      periods.map((period) => [iso(periodStart(period, date)), iso(periodEnd(period, date))]),
      expected,
      text,
    );
    t.equal(utcDay(date), expected[0]?.[0]);
    const { day, start, end } = calendarDay(date.getTime());
    t.equal(day, utcDay(date));
    for (const period of periods) {
      t.equal(start[period], periodStart(period, date).getTime());
      t.equal(end[period], periodEnd(period, date).getTime());
    }
  }
  t.end();
});
