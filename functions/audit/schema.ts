import { z } from 'zod';
import { auditEntryView, auditQuery, platformAuditQuery } from '../../runtime/contracts/api/audit.ts';
import { page } from '../../runtime/contracts/api/common.ts';

const replies = { 200: page(auditEntryView) } as const;

export const listProjectAuditSchema = {
  params: z.object({ project: z.string().max(100) }),
  query: auditQuery,
  replies,
} as const;
export const listPlatformAuditSchema = { query: platformAuditQuery, replies } as const;
