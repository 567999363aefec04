import t from 'tap';
import { checkTimeZone, nextTimes, parseSchedule, upcomingTimes } from '../../../runtime/domain/schedule.ts';

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
    ['0 0 29 2 *', ['2028-02-29T00:00', '2032-02-29T00:00', '2036-02-29T00:00']],
    ['0 0 31 2,3 *', ['2026-03-31T00:00', '2027-03-31T00:00']],
    ['0 0 * 2 *', ['2026-02-28T00:00', '2027-02-01T00:00']],
    ['0 0 30 2 6', ['2026-02-28T00:00', '2027-02-06T00:00']],
    // A range over all days restricts as any other; an open day in a list does not.
    ['0 0 1-31 * 1', ['2026-02-28T00:00', '2026-03-01T00:00', '2026-03-02T00:00']],
    ['0 0 3,* * 1', ['2026-03-02T00:00', '2026-03-09T00:00']],
    ['0 0 ? * ?', ['2026-02-28T00:00', '2026-03-01T00:00']],
    ['@midnight', ['2026-02-28T00:00', '2026-03-01T00:00']],
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

t.test('the values of a field are in order', (t) => {
  t.equal(parseSchedule('30,5 * * * *').expression, '0 5,30 * * * *');
  t.end();
});

t.test('the last day of every month is accepted', (t) => {
  for (const [index, day] of [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].entries()) {
    t.equal(parseSchedule(`0 0 ${day} ${index + 1} *`).expression, `0 0 0 ${day} ${index + 1} *`);
  }
  t.equal(parseSchedule('0 0 31 * *').expression, '0 0 0 31 * *');
  t.equal(parseSchedule('0 0 30,31 2 1').expression, '0 0 0 30,31 2 1', 'any Monday');
  t.end();
});

t.test('clock changes as in Kubernetes: skipped times are left out, repeated times occur twice', (t) => {
  const spring = new Date('2026-03-28T12:00:00Z');
  t.same(next('30 2 * * *', 2, 'Europe/Berlin', spring), ['2026-03-30T00:30', '2026-03-31T00:30']);
  t.same(next('0 9 * * *', 2, 'Europe/Berlin', spring), ['2026-03-29T07:00', '2026-03-30T07:00']);
  const night = new Date('2026-03-29T00:30:00Z');
  t.same(next('*/30 1-3 * * *', 3, 'Europe/Berlin', night), [
    '2026-03-29T01:00',
    '2026-03-29T01:30',
    '2026-03-29T23:00',
  ]);
  const autumn = new Date('2026-10-24T12:00:00Z');
  t.same(next('30 2 * * *', 3, 'Europe/Berlin', autumn), ['2026-10-25T00:30', '2026-10-25T01:30', '2026-10-26T01:30']);
  t.same(next('*/30 2 * * *', 2, 'Europe/Berlin', autumn), ['2026-10-25T00:00', '2026-10-25T00:30'], 'in order');
  const between = new Date('2026-10-25T00:45:00Z');
  const hours = ['2026-10-25T01:00', '2026-10-25T01:15', '2026-10-25T01:30', '2026-10-25T01:45', '2026-10-25T02:00'];
  t.same(next('*/15 * * * *', 5, 'Europe/Berlin', between), hours);
  t.same(next('15 2 * * *', 2, 'Europe/Berlin', between), ['2026-10-25T01:15', '2026-10-26T01:15']);
  // West of Greenwich, where all offsets are negative.
  const later = new Date('2026-11-01T05:45:00Z');
  t.same(next('30 1 * * *', 2, 'America/New_York', later), ['2026-11-01T06:30', '2026-11-02T06:30']);
  t.same(next('*/30 * * * *', 4, 'America/New_York', new Date('2026-11-01T04:45:00Z')), [
    '2026-11-01T05:00',
    '2026-11-01T05:30',
    '2026-11-01T06:00',
    '2026-11-01T06:30',
  ]);
  t.same(next('0 0 * * *', 1, 'Asia/Kathmandu', spring), ['2026-03-28T18:15']);
  // Half an hour back, and a whole day that never existed.
  const islands = new Date('2026-04-04T12:00:00Z');
  t.same(next('45 1 * * *', 3, 'Australia/Lord_Howe', islands), [
    '2026-04-04T14:45',
    '2026-04-04T15:15',
    '2026-04-05T15:15',
  ]);
  t.same(next('0 12 * * *', 2, 'Pacific/Apia', new Date('2011-12-29T12:00:00Z')), [
    '2011-12-29T22:00',
    '2011-12-30T22:00',
  ]);
  t.end();
});

t.test('independent of the machine’s own time zone', (t) => {
  const zone = process.env['TZ'];
  t.teardown(() => {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
  });
  for (const machine of ['America/New_York', 'Pacific/Auckland']) {
    process.env['TZ'] = machine;
    t.same(next('0 2 * * *', 2, 'Etc/UTC', new Date('2026-03-07T22:00:00Z')), ['2026-03-08T02:00', '2026-03-09T02:00']);
    t.same(next('0 2 * * *', 1, 'Europe/Berlin', new Date('2026-03-08T00:30:00Z')), ['2026-03-08T01:00']);
  }
  t.end();
});

t.test('an invalid schedule is refused with the invalid part', (t) => {
  for (const [expression, message] of [
    ['', /five fields/],
    ['* * * *', /five fields/],
    ['0 0 0 2 * *', /five fields/],
    ['60 * * * *', /minute is a number from 0 to 59, not "60"/],
    ['0 24 * * *', /hour is a number/],
    ['0 0 0 * *', /day of the month is a number from 1/],
    ['0 0 32 * *', /day of the month is a number from 1 to 31/],
    ['0 0 1 13 *', /month is a number from 1 to 12/],
    ['0 0 * * 7', /0 is Sunday/],
    ['0 0 * foo *', /month/],
    ['5-1 * * * *', /ends before it starts/],
    ['*/0 * * * *', /"\*\/0" is not a valid minute/],
    ['*-5 * * * *', /not a valid minute/],
    ['1,,2 * * * *', /not a valid minute/],
    ['0 0 30 2 *', /does not exist/],
    ['0 0 31 2 *', /does not exist/],
    ...[4, 6, 9, 11].map((month) => [`0 0 31 ${month} *`, /does not exist/] as const),
    ['0 0 31 4,6,9,11 *', /does not exist/],
    ['@reboot', /five fields/],
    // cron-parser accepts them, Kubernetes does not.
    ['@weekdays', /five fields/],
    ['@minutely', /five fields/],
    ['0 0 L * *', /day of the month is a number/],
    ['0 0 15W * *', /day of the month is a number/],
    ['0 0 * * 5L', /day of the week is a number/],
    ['0 0 * * 1#2', /"1#2" is not a valid day of the week/],
    ['H * * * *', /minute is a number/],
    ['H(0-5) * * * *', /is not a valid minute/],
    ['*/15,* 0-24 * * *', /hour is a number/],
    // Kubernetes accepts it, and its times depend on the moment of the look.
    ['@every 1h', /five fields/],
    ['TZ=UTC 0 0 * * *', /five fields/],
  ] as const) {
    t.throws(() => parseSchedule(expression), { code: 'invalid_value', message }, expression);
  }
  t.end();
});

t.test('a schedule that kubectl set and that is not valid here has no next times', async (t) => {
  t.same(upcomingTimes('0 2 * * *', 'Etc/UTC', after, 1), [new Date('2026-02-28T02:00:00Z')]);
  t.same(upcomingTimes('0 2 * * 7', 'Etc/UTC', after, 1), []);
  t.same(upcomingTimes('0 2 * * *', 'Mars/Olympus', after, 1), []);
});

t.test('time zones are IANA names', (t) => {
  t.equal(checkTimeZone('Europe/Berlin'), 'Europe/Berlin');
  for (const zone of ['Mars/Olympus', '+02:00', 'Local', '']) {
    t.throws(() => checkTimeZone(zone), { code: 'invalid_value' }, zone);
  }
  t.end();
});
