import { z } from 'zod';
import {
  deploymentAccepted,
  deploymentLogs,
  deploymentView,
  promotionCreate,
} from '../../runtime/contracts/api/apps.ts';
import {
  deploymentState,
  deploymentTrigger,
  environmentQuery,
  page,
  pageQuery,
} from '../../runtime/contracts/api/common.ts';

const project = z.object({ project: z.string().max(100) });

export const listDeploymentsSchema = {
  params: project,
  /** The environment is a filter here, like the others. The cursor is the last deployment's id of the page before. */
  query: environmentQuery.extend({
    app: z.string().max(100).optional(),
    status: deploymentState.optional(),
    trigger: deploymentTrigger.optional(),
    limit: pageQuery.shape.limit,
    cursor: z.uuid().optional(),
  }),
  replies: { 200: page(deploymentView) },
} as const;

export const deploymentLogsSchema = {
  params: project.extend({ id: z.string().max(100) }),
  /** Lines from the end of each log; default the whole build, and 1000 of each pod. */
  query: z.object({ tail: z.coerce.number().int().min(1).max(10_000).optional() }),
  replies: { 200: deploymentLogs },
} as const;

export const promoteSchema = {
  params: project.extend({ app: z.string().max(100) }),
  body: promotionCreate,
  replies: { 202: deploymentAccepted },
} as const;
