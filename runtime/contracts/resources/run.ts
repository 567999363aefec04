import { z } from 'zod';

/** Maximum number of requested runs of a workload that the controller has not created yet. */
export const runRequestsMax = 20;

/** Maximum number of runs to stop: more sessions of one app cannot end before the controller has stopped their runs. */
export const runStopsMax = 100;

/** What to do when a scheduled run is due while the previous one is running. */
export const runOverlaps = ['Forbid', 'Allow', 'Replace'] as const;

export const runStates = ['pending', 'running', 'succeeded', 'failed'] as const;

/** A requested run. The controller creates the run and then removes the request (decision 0007). */
export const runRequest = z.object({
  /** Ten hexadecimal digits, the suffix of the run's name. */
  id: z.string(),
  at: z.iso.datetime(),
  by: z.string().optional(),
});

export type RunRequest = z.infer<typeof runRequest>;

/** Limits of a command of an app: the most words, and the most characters of one. */
export const runCommandMax = { words: 100, characters: 4_096 };

/** A program and its arguments, which no shell interprets. */
export const appCommand = z.array(z.string().max(runCommandMax.characters)).min(1).max(runCommandMax.words);

/** A requested run of an app, with its command. */
export const appRunRequest = runRequest.extend({
  command: appCommand,
  /** The pod only waits, and a session runs the command in it (decision 0066); `command` is its program, without arguments. */
  session: z.literal(true).optional(),
});

export type AppRunRequest = z.infer<typeof appRunRequest>;

/** One run, as reported by its batch Job. */
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
