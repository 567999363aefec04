import { z } from 'zod';
import { environmentQuery } from './common.ts';

/** A UTC calendar date, `YYYY-MM-DD`. */
export const day = z.iso.date();

const counts = {
  allowed: z.int(),
  /** Refused with 429 `rate_limited`. */
  rateDenied: z.int(),
  /** Refused with 429 `quota_exhausted`. */
  quotaDenied: z.int(),
};

/** Requests of one key that the gate decided about (spec.md §2.2). */
export const usageCounts = z.object(counts);

export type UsageCounts = z.infer<typeof usageCounts>;

/** What lists and records of keys show: the totals of the last 90 days, today among them. */
export const usageSummary = z.object({
  ...counts,
  /** The last day on which the key saw traffic; absent when it saw none in the 92 days that are kept. */
  lastSeen: day.optional(),
});

export type UsageSummary = z.infer<typeof usageSummary>;

/**
 * `GET /api/v1/projects/{p}/api-keys/{k}/usage` (spec.md §4.2): both inclusive; by default `to` is today and `from` is 89
 * days before `to`.
 */
export const usageQuery = environmentQuery.extend({ from: day.optional(), to: day.optional() });

export const usageView = z.object({
  /** The effective one: moved forward when the history does not reach back to what was asked for. */
  from: day,
  to: day,
  totals: usageCounts,
  /** The days with traffic, oldest first. */
  days: z.array(z.object({ day, ...counts })),
});

export type UsageView = z.infer<typeof usageView>;
