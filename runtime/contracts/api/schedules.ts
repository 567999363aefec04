import { z } from 'zod';
import { timestamp } from './common.ts';

/** `GET /api/v1/schedules/next` */
export const nextRunsQuery = z.object({
  schedule: z.string().max(200).describe('A cron expression with five fields.'),
  timeZone: z.string().max(100).optional().describe('An IANA time zone (default: Etc/UTC).'),
});

export const nextRunsView = z.object({
  schedule: z.string(),
  /** The schedule in words, in its time zone. */
  description: z.string(),
  timeZone: z.string(),
  nextRuns: z.array(timestamp),
});

/** `GET /api/v1/schedules/presets`: common schedules. */
export const presetsView = z.object({ items: z.array(z.object({ schedule: z.string(), description: z.string() })) });
