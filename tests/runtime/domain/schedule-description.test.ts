import t from 'tap';
import { describeSchedule } from '../../../runtime/domain/schedule-description.ts';

t.test('schedules are described in words, as Kubernetes reads them', (t) => {
  for (const [schedule, words] of [
    ['* * * * *', 'Every minute'],
    ['*/5 * * * *', 'Every 5 minutes'],
    ['0 * * * *', 'Every hour'],
    ['@hourly', 'Every hour'],
    [' 0  2 * * * ', 'At 02:00'],
    ['30 17 * * *', 'At 17:30'],
    ['0 9 * * 1', 'At 09:00, only on Monday'],
    ['0 0 ? * mon-fri', 'At 00:00, Monday through Friday'],
    ['0 0 1 JAN,jul *', 'At 00:00, on day 1 of the month, only in January and July'],
    // A wildcard in a list, or with a step of one, leaves the field open.
    ['5,* */1 ?/01 * *', 'Every minute'],
  ] as const) {
    t.equal(describeSchedule(schedule), words, schedule);
  }
  t.end();
});

t.test('a schedule that kubectl set and that is not valid here has no description', (t) => {
  const many = `${Array.from({ length: 50_000 }, (_, minute) => minute % 60).join()} * * * *`;
  for (const schedule of ['', '61 * * * *', '@every 5m', '0 0 L * *', 'TZ=UTC 0 0 * * *', '0 0 30 2 *', many]) {
    t.equal(describeSchedule(schedule), undefined, schedule.slice(0, 20));
  }
  t.equal(describeSchedule('* * * * *'.padEnd(200)), 'Every minute', 'as long as the API accepts');
  t.equal(describeSchedule('* * * * *'.padEnd(201)), undefined);
  t.end();
});
