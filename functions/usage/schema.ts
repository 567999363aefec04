import { z } from 'zod';
import { reference } from '../../runtime/contracts/api/plans.ts';
import { usageQuery, usageView } from '../../runtime/contracts/api/usage.ts';

export const readUsageSchema = {
  /** A key's id or its handle. */
  params: z.object({ project: z.string().max(100), key: reference }),
  query: usageQuery,
  replies: { 200: usageView },
} as const;
