import { z } from 'zod';
import { deploymentStates, deploymentTriggers } from '../../domain/deployment.ts';

/** RFC 3339 in UTC. */
export const timestamp = z.iso.datetime();

/** The error body of the management API (design.md §9). */
export const problemBody = z.object({
  code: z.string(),
  message: z.string(),
  details: z.record(z.string(), z.unknown()).optional(),
});

/** `{items, nextCursor?}`: a page of a list. */
export function page<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), nextCursor: z.string().optional() });
}

/** Query parameters of a list: at most `limit` items, after the page whose `nextCursor` was `cursor`. */
export const pageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(500).default(100),
  cursor: z.string().max(400).optional(),
});

/** A switch in a query: on when it says `true`. */
export const flag = z
  .enum(['true', 'false'])
  .default('false')
  .transform((word) => word === 'true');

/** Query parameters of every project-scoped path. */
export const environmentQuery = z.object({ environment: z.string().optional() });

export const deploymentState = z.enum(deploymentStates);
export const deploymentTrigger = z.enum(deploymentTriggers);

/** Environment variables by name; a container's whole environment has about 1 MiB. */
export const variables = z.record(z.string().max(200), z.string().max(32_768));

/** The last time that a container of a workload was killed for memory; `message` names its limit and the next to try. */
export const outOfMemory = z.object({ at: timestamp, message: z.string() });
