import t from 'tap';
import { createScheduleRoutes } from '../../../functions/schedules/handler.ts';
import { parseSchedule } from '../../../runtime/domain/schedule.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';

const service = (t: { teardown(end: () => unknown): void }) =>
  testApi(t, { routes: createScheduleRoutes({ clock: fakeClock(new Date('2026-11-21T12:00:00Z')) }) });
const next = (schedule: string, more = '') => `/api/v1/schedules/next?schedule=${encodeURIComponent(schedule)}${more}`;

t.test('200: a schedule in words and its next five times, by default in UTC', async (t) => {
  const api = await service(t);
  const answer = await api.call('GET', next('0 9 * * 1'));
  t.same(answer.body, {
    schedule: '0 9 * * 1',
    description: 'At 09:00, only on Monday',
    timeZone: 'Etc/UTC',
    nextRuns: ['11-23', '11-30', '12-07', '12-14', '12-21'].map((day) => `2026-${day}T09:00:00.000Z`),
  });
  const elsewhere = await api.call('GET', next('0 9 * * 1', '&timeZone=Asia/Tokyo'));
  t.match(elsewhere.body, { nextRuns: ['2026-11-23T00:00:00.000Z'] });
});

t.test('422: an invalid schedule, naming the invalid part', async (t) => {
  const api = await service(t);
  t.match(await api.call('GET', next('61 * * * *')), { status: 422, body: { details: { field: 'schedule' } } });
  t.match(await api.call('GET', next('* * * * *', '&timeZone=x')), {
    status: 422,
    body: { details: { field: 'timeZone' } },
  });
  t.equal((await api.call('GET', '/api/v1/schedules/next')).status, 400);
});

t.test('200: the presets of the form, each a schedule', async (t) => {
  const api = await service(t);
  const { items } = (await api.call('GET', '/api/v1/schedules/presets')).body;
  const schedules = items.map(({ schedule }: { schedule: string }) => schedule);
  t.same(items, [
    { schedule: '* * * * *', description: 'every minute' },
    { schedule: '*/5 * * * *', description: 'every 5 minutes' },
    { schedule: '0 * * * *', description: 'hourly' },
    { schedule: '0 0 * * *', description: 'daily at midnight UTC' },
    { schedule: '0 2 * * *', description: 'daily at 02:00 UTC' },
    { schedule: '0 9 * * 1', description: 'Monday 09:00 UTC' },
  ]);
  for (const schedule of schedules) t.ok(parseSchedule(schedule));
});
