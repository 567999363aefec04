import { z } from 'zod';
import { timestamp } from './common.ts';

/** `GET /api/v1/schedules/next` */
export const nextRunsQuery = z.object({
  /** A cron expression of five fields. */
  schedule: z.string().max(200),
  /** IANA name; default Etc/UTC. */
  timeZone: z.string().max(100).optional(),
});

export const nextRunsView = z.object({ schedule: z.string(), timeZone: z.string(), nextRuns: z.array(timestamp) });

/** `GET /api/v1/schedules/presets`: what is offered to choose from, in UTC. */
export const presetsView = z.object({ items: z.array(z.object({ schedule: z.string(), description: z.string() })) });
