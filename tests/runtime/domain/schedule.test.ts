import t from 'tap';
import { checkTimeZone, nextTimes, parseSchedule } from '../../../runtime/domain/schedule.ts';

const after = new Date('2026-02-27T22:30:30Z');

const next = (expression: string, count = 3, timeZone = 'Etc/UTC', from = after) =>
  nextTimes(parseSchedule(expression), timeZone, from, count).map((time) => time.toISOString().slice(0, 16));

t.test('the next times of schedules, in UTC', (t) => {
  for (const [expression, times] of [
    ['* * * * *', ['2026-02-27T22:31', '2026-02-27T22:32', '2026-02-27T22:33']],
    ['*/5 * * * *', ['2026-02-27T22:35', '2026-02-27T22:40', '2026-02-27T22:45']],
    ['0 * * * *', ['2026-02-27T23:00', '2026-02-28T00:00', '2026-02-28T01:00']],
    ['@hourly', ['2026-02-27T23:00', '2026-02-28T00:00', '2026-02-28T01:00']],
    ['0 2 * * *', ['2026-02-28T02:00', '2026-03-01T02:00', '2026-03-02T02:00']],
    ['0 9 * * 1', ['2026-03-02T09:00', '2026-03-09T09:00', '2026-03-16T09:00']],
    ['0 9 * * mon-wed', ['2026-03-02T09:00', '2026-03-03T09:00', '2026-03-04T09:00']],
    ['30 8,20 1 JAN,jul *', ['2026-07-01T08:30', '2026-07-01T20:30', '2027-01-01T08:30']],
    ['0 0 29 2 *', ['2028-02-29T00:00', '2032-02-29T00:00', '2036-02-29T00:00'].slice(0, 2)],
    // Both days restricted: either is enough. A step of one leaves the day open, a larger one restricts it.
    ['0 0 1 * 1', ['2026-03-01T00:00', '2026-03-02T00:00', '2026-03-09T00:00']],
    ['0 0 */1 * 1', ['2026-03-02T00:00', '2026-03-09T00:00', '2026-03-16T00:00']],
    ['0 0 */15 * 1', ['2026-03-01T00:00', '2026-03-02T00:00', '2026-03-09T00:00']],
    ['50/5 22 * * *', ['2026-02-27T22:50', '2026-02-27T22:55', '2026-02-28T22:50']],
  ] as const) {
    t.same(next(expression, times.length), times, expression);
  }
  t.end();
});

t.test(
  'a time zone moves with its clocks: a time that is skipped is left out, one that comes twice counts once',
  (t) => {
    const spring = new Date('2026-03-28T12:00:00Z');
    t.same(next('30 2 * * *', 2, 'Europe/Berlin', spring), ['2026-03-30T00:30', '2026-03-31T00:30']);
    t.same(next('0 9 * * *', 2, 'Europe/Berlin', spring), ['2026-03-29T07:00', '2026-03-30T07:00']);
    const autumn = new Date('2026-10-24T12:00:00Z');
    t.same(next('30 2 * * *', 2, 'Europe/Berlin', autumn), ['2026-10-25T00:30', '2026-10-26T01:30']);
    t.same(next('0 0 * * *', 1, 'Asia/Kathmandu', spring), ['2026-03-28T18:15']);
    t.end();
  },
);

t.test('what is no schedule is refused, with the part that is wrong', (t) => {
  for (const [expression, message] of [
    ['', /five fields/],
    ['* * * *', /five fields/],
    ['0 0 0 2 * *', /five fields/],
    ['60 * * * *', /minute is a number from 0 to 59, not "60"/],
    ['0 24 * * *', /hour is a number/],
    ['0 0 0 * *', /day of the month is a number from 1/],
    ['0 0 * * 7', /0 is Sunday/],
    ['0 0 * foo *', /month/],
    ['5-1 * * * *', /ends before it begins/],
    ['*/0 * * * *', /"\*\/0" is no minute/],
    ['*-5 * * * *', /no minute/],
    ['1,,2 * * * *', /no minute/],
    ['0 0 31 2 *', /never comes/],
    ['@reboot', /five fields/],
    ['TZ=UTC 0 0 * * *', /five fields/],
  ] as const) {
    t.throws(() => parseSchedule(expression), { code: 'invalid_value', message }, expression);
  }
  t.end();
});

t.test('time zones are IANA names', (t) => {
  t.equal(checkTimeZone('Europe/Berlin'), 'Europe/Berlin');
  for (const zone of ['Mars/Olympus', '+02:00', 'Local', '']) {
    t.throws(() => checkTimeZone(zone), { code: 'invalid_value' }, zone);
  }
  t.end();
});
