import type { Clock } from '../../runtime/domain/clock.ts';
import { schedulePresets } from '../../runtime/domain/schedule-presets.ts';
import { checkTimeZone, defaultTimeZone, nextTimes, parseSchedule, shownTimes } from '../../runtime/domain/schedule.ts';
import { route, type Route } from '../../runtime/http/route.ts';
import { nextRunsSchema, presetsSchema } from './schema.ts';

const tag = 'schedules';

/** `/schedules`: previews of cron expressions. */
export function createScheduleRoutes({ clock }: { clock: Clock }): Route[] {
  return [
    route({
      ...nextRunsSchema,
      method: 'GET',
      path: '/schedules/next',
      access: 'session',
      tag,
      summary: 'Shows the next five times of a schedule.',
      handle({ query: { schedule, timeZone = defaultTimeZone } }) {
        const parsed = parseSchedule(schedule);
        checkTimeZone(timeZone);
        const nextRuns = nextTimes(parsed, timeZone, clock.now(), shownTimes).map((time) => time.toISOString());
        return Promise.resolve({ status: 200, body: { schedule, timeZone, nextRuns } });
      },
    }),
    route({
      ...presetsSchema,
      method: 'GET',
      path: '/schedules/presets',
      access: 'session',
      tag,
      summary: 'Lists schedule presets, in UTC.',
      handle: () => Promise.resolve({ status: 200, body: { items: [...schedulePresets] } }),
    }),
  ];
}
