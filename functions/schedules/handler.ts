import type { Clock } from '../../runtime/domain/clock.ts';
import { describeSchedule } from '../../runtime/domain/schedule-description.ts';
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
      summary: 'Describes a schedule in words, with its next five times.',
      handle({ query: { schedule, timeZone = defaultTimeZone } }) {
        const parsed = parseSchedule(schedule);
        checkTimeZone(timeZone);
        const nextRuns = nextTimes(parsed, timeZone, clock.now(), shownTimes).map((time) => time.toISOString());
        const description = describeSchedule(schedule) ?? schedule;
        return Promise.resolve({ status: 200, body: { schedule, description, timeZone, nextRuns } });
      },
    }),
    route({
      ...presetsSchema,
      method: 'GET',
      path: '/schedules/presets',
      access: 'session',
      tag,
      summary: 'Lists common schedules.',
      handle: () => Promise.resolve({ status: 200, body: { items: [...schedulePresets] } }),
    }),
  ];
}
