import { z } from 'zod';
import { environmentQuery } from './common.ts';

/** A UTC calendar date, `YYYY-MM-DD`. */
const day = z.iso.date();

const counts = {
  allowed: z.int(),
  /** Denied with 429 `rate_limited`. */
  rateDenied: z.int(),
  /** Denied with 429 `quota_exhausted`. */
  quotaDenied: z.int(),
};

/** Requests of one key, by verdict; docs/reference/api.md#usage. */
const usageCounts = z.object(counts);

export type UsageCounts = z.infer<typeof usageCounts>;

/** The totals of the last 90 days including today, shown with each key. */
export const usageSummary = z.object({
  ...counts,
  /** The last day with traffic; absent if there was none in the 92 days that are kept. */
  lastSeen: day.optional(),
});

export type UsageSummary = z.infer<typeof usageSummary>;

/**
 * `GET /api/v1/projects/{p}/api-keys/{k}/usage`: both inclusive; by default `to` is today and `from` is 89
 * days before `to`.
 */
export const usageQuery = environmentQuery.extend({
  from: day.optional().describe('First UTC day (default: 89 days before `to`).'),
  to: day.optional().describe('Last UTC day (default: today).'),
});

export const usageView = z.object({
  /** The effective start: later than requested if the history does not reach back that far. */
  from: day,
  to: day,
  totals: usageCounts,
  /** The days with traffic, oldest first. */
  days: z.array(z.object({ day, ...counts })),
});
