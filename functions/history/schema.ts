import { z } from 'zod';
import { deploymentAccepted, deploymentView, rollbackCreate } from '../../runtime/contracts/api/apps.ts';
import { environmentQuery, page, pageQuery } from '../../runtime/contracts/api/common.ts';

const app = z.object({ project: z.string().max(100), app: z.string().max(100) });

export const historySchema = {
  params: app,
  /** The cursor is the last deployment's id of the page before. */
  query: environmentQuery.extend({ limit: pageQuery.shape.limit, cursor: z.uuid().optional() }),
  replies: { 200: page(deploymentView) },
} as const;
export const rollbackSchema = {
  params: app,
  query: environmentQuery,
  body: rollbackCreate,
  replies: { 202: deploymentAccepted },
} as const;
export const deploymentSchema = {
  params: z.object({ project: z.string().max(100), id: z.string().max(100) }),
  replies: { 200: deploymentView },
} as const;
export const cancelSchema = { params: deploymentSchema.params, replies: { 200: deploymentView } } as const;
