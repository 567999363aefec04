import { z } from 'zod';

/** Runs of one workload that were asked for and are not made yet. */
export const runRequestsMax = 20;

/** What happens to a scheduled run while the one before still goes on. */
export const runOverlaps = ['Forbid', 'Allow', 'Replace'] as const;

export const runStates = ['pending', 'running', 'succeeded', 'failed'] as const;

/** One wish for a run. The controller makes the run and takes the wish away, in this order (decision 0007). */
export const runRequest = z.object({
  /** Ten hexadecimal digits: the end of the run's name. */
  id: z.string(),
  at: z.iso.datetime(),
  by: z.string().optional(),
});

export type RunRequest = z.infer<typeof runRequest>;

/** One run, as its batch Job tells. */
export interface Run<Trigger extends string = string> {
  name: string;
  trigger: Trigger;
  state: (typeof runStates)[number];
  by?: string;
  createdAt: string;
  startedAt?: string;
  endedAt?: string;
  /** Why it failed or does not start. */
  message?: string;
}
