import { z } from 'zod';
import { figureNames, metricKinds } from './figures.ts';
import { historyFigures } from './metrics-store.ts';

/** The questions that the ring's server answers, `POST` with JSON, and their answers: those of a MetricsStore. */

const name = z.string().regex(/^[a-z0-9-]{1,63}$/);
const seconds = z.int().min(0).max(1e11);
const value = z.number().nullable();
const kind = z.enum(metricKinds);

const window = z.object({ from: seconds, to: seconds, step: z.int().min(1).max(1e6) });

export const workloadQuestion = z.object({ namespace: name, kind, name, window });
export const historyQuestion = z.object({ namespace: name, window });
export const namespaceQuestion = z.object({ namespace: name, at: seconds });

export const workloadAnswer = z.object({
  times: z.array(z.number()),
  figures: z.partialRecord(z.enum(figureNames), z.array(value)),
});
export const namespaceAnswer = z.array(
  z.object({ kind, name: z.string(), figures: z.partialRecord(z.enum(figureNames), value) }),
);

export const historyAnswer = z.array(
  z.object({ kind, name: z.string(), figures: z.partialRecord(z.enum(historyFigures), z.array(value)) }),
);

/** The paths of the questions. */
export const ringPaths = { workload: '/workload', namespace: '/namespace', history: '/history' } as const;
