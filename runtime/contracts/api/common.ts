import { z } from 'zod';
import { deploymentStates, deploymentTriggers } from '../../domain/deployment.ts';

/** RFC 3339 in UTC. */
export const timestamp = z.iso.datetime();

/** The error body of the management API (docs/reference/api.md#errors). */
export const problemBody = z.object({
  code: z.string(),
  message: z.string(),
  details: z.record(z.string(), z.unknown()).optional(),
});

/** `{items, nextCursor?}`: one page of a list. */
export function page<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), nextCursor: z.string().optional() });
}

export const cursorDescription = 'The `nextCursor` of the previous page (default: the first page).';

/** Query parameters of a list (docs/reference/api.md#lists). */
export const pageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(500).default(100).describe('Maximum number of items on a page.'),
  cursor: z.string().max(400).optional().describe(cursorDescription),
});

/** Query parameters of a list whose cursor is the id of the previous page's last item. */
export const idPageQuery = pageQuery.extend({ cursor: z.uuid().optional().describe(cursorDescription) });

/** A boolean query parameter. */
export const flag = z
  .enum(['true', 'false'])
  .default('false')
  .transform((word) => word === 'true');

/** Query parameters of every route in an environment (docs/reference/api.md#environments). */
export const environmentQuery = z.object({
  environment: z
    .string()
    .optional()
    .describe('The environment’s name. Required if the project has more than one environment.'),
});

export const deploymentState = z.enum(deploymentStates);
export const deploymentTrigger = z.enum(deploymentTriggers);

/** Environment variables by name. A container's environment can have about 1 MiB in total. */
export const variables = z.record(z.string().max(200), z.string().max(32_768));

/** The last time that a container of a workload was killed for memory; `message` contains its limit and the next to try. */
export const outOfMemory = z.object({ at: timestamp, message: z.string() });
