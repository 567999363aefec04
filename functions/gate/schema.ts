import { z } from 'zod';
import { gateChange, gateChangeQuery, gateStatus } from '../../runtime/contracts/api/gate.ts';

export const readChangeSchema = {
  params: z.object({ version: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER) }),
  query: gateChangeQuery,
  replies: { 200: gateChange },
} as const;

export const readStatusSchema = { replies: { 200: gateStatus } } as const;
