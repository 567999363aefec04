import { z } from 'zod';
import { deploymentState, environmentQuery, flag, timestamp } from './common.ts';

/** The ranges of a chart: the store keeps three days. */
export const metricsRanges = ['1h', '6h', '24h', '3d'] as const;

export type MetricsRange = (typeof metricsRanges)[number];

/** `GET …/metrics`. */
export const metricsQuery = environmentQuery.extend({
  range: z.enum(metricsRanges).default('1h').describe('How far back (default `1h`).'),
  step: z.coerce
    .number()
    .int()
    .min(15)
    .max(86_400)
    .optional()
    .describe('Seconds between values (default: 60 for `1h`, 300 for `6h`, 900 for `24h`, 3600 for `3d`).'),
});

/** One value for each time; null where there is none. */
const values = z.array(z.number().nullable());

const resources = {
  cpuCores: values,
  memoryBytes: values,
  replicas: values,
  readyReplicas: values,
  /** In each step. */
  restarts: values,
  /** Containers that were killed for memory, in each step. */
  oomKills: values,
};
const traffic = {
  requestsPerSecond: values,
  /** Of those, the ones with a 5xx status. */
  errorsPerSecond: values,
  latencyP50Seconds: values,
  latencyP95Seconds: values,
  latencyP99Seconds: values,
};

/** Why figures have no values, when the platform does not collect them. */
const notes = z.array(z.string()).optional();

/** The time of each value is `from` plus a multiple of `stepSeconds`; a rate is that of the step that ends then. */
const window = { name: z.string(), from: timestamp, to: timestamp, stepSeconds: z.int(), notes };

/** A deployment, to mark in a chart. */
const deploymentMark = z.object({ id: z.string(), revision: z.int(), state: deploymentState, at: timestamp });

export const appMetrics = z.object({
  ...window,
  figures: z.object({ ...traffic, ...resources }),
  /** Those in the range, oldest first, at most 100. */
  deployments: z.array(deploymentMark),
});
export const functionMetrics = z.object({
  ...window,
  /** `coldStarts`: requests that waited for a pod, in each step. */
  figures: z.object({ ...traffic, coldStarts: values, ...resources }),
});
/** Of jobs and services. */
export const resourceMetrics = z.object({ ...window, figures: z.object(resources) });

/** The metrics of any workload. */
export const anyMetrics = z.object({
  ...window,
  figures: z.record(z.string(), values),
  deployments: z.array(deploymentMark).optional(),
});

export type AnyMetrics = z.infer<typeof anyMetrics>;

const current = z.number().nullable();

/** `GET …/top`. */
export const topQuery = environmentQuery.extend({
  history: flag.describe('Also shows the requests and the CPU of the last hour, one value every three minutes.'),
});

/** One workload in `GET …/top`; null for what is not known. */
const topItem = z.object({
  kind: z.enum(['app', 'function', 'job', 'service']),
  name: z.string(),
  cpuCores: current,
  memoryBytes: current,
  requestsPerSecond: current,
  errorsPerSecond: current,
  latencyP95Seconds: current,
  replicas: current,
  readyReplicas: current,
  /** Of the containers of the pods that exist. */
  restarts: z.int(),
  /** With `history`, if the store has a value. */
  history: z.object({ requestsPerSecond: values, cpuCores: values }).partial().optional(),
});

export type TopItem = z.infer<typeof topItem>;

/** `GET …/top`: by CPU, highest first. */
export const topView = z.object({
  at: timestamp,
  /** The times of `history`. */
  window: z.object({ from: timestamp, to: timestamp, stepSeconds: z.int() }).optional(),
  items: z.array(topItem),
  /** How many workloads are left out, since only 500 are shown. */
  omitted: z.int(),
  /** Set when the metrics store did not answer: then only pods are known. */
  metricsUnavailable: z.string().optional(),
});
