import type { Pool } from 'pg';
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
  idPageQuery,
  page,
} from '../../runtime/contracts/api/common.ts';
import { lineCount } from '../../runtime/contracts/api/logs.ts';
import { accept } from '../../runtime/api/accept.ts';
import { findDeployment } from '../../runtime/api/project-deployment.ts';
import { pageOfRows } from '../../runtime/http/page.ts';
import { actorOf, route, sessionOf, type Route } from '../../runtime/http/route.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { listProjectDeployments } from '../../runtime/records/deployment-lists.ts';
import { deploymentToView } from '../../runtime/records/deployment-view.ts';
import { checkFilters } from './filters.ts';
import { defaultPodLines, readDeploymentLogs } from './logs.ts';
import { preparePromotion } from './promote.ts';

export interface DeploymentDependencies {
  kube: KubeClient;
  pool: Pool;
  /** The public address of the management API. */
  baseUrl: string;
}

const tag = 'deployments';

const listQuery = environmentQuery.extend({
  ...idPageQuery.shape,
  environment: z.string().optional().describe('Only deployments of this environment.'),
  app: z.string().min(1).max(100).optional().describe('Only deployments of this app.'),
  status: deploymentState.optional().describe('Only deployments with this status.'),
  trigger: deploymentTrigger.optional().describe('Only deployments with this trigger.'),
});

const logsQuery = z.object({
  tail: lineCount.describe(
    `Number of lines from the end of each log (default: the whole build log, ${defaultPodLines} of each pod).`,
  ),
});

/** A project's deployments across apps: their list, their logs, and promotion to another environment. */
export function createDeploymentRoutes({ kube, pool, baseUrl }: DeploymentDependencies): Route[] {
  return [
    route({
      method: 'GET',
      path: '/projects/:project/deployments',
      access: { project: 'viewer', scope: 'read' },
      tag,
      summary: 'Lists the deployments of a project’s apps, newest first. All filters are optional.',
      query: listQuery,
      replies: { 200: page(deploymentView) },
      async handle({ params, query }) {
        const { limit, cursor, ...filters } = query;
        const range = { ...filters, limit: limit + 1, before: cursor };
        const rows = await listProjectDeployments(pool, params.project, range);
        if (rows.length === 0) await checkFilters({ kube, pool }, params.project, filters);
        return { status: 200, body: pageOfRows(rows, limit, { cursorOf: ({ id }) => id, toItem: deploymentToView }) };
      },
    }),
    route({
      method: 'GET',
      path: '/projects/:project/deployments/:id/logs',
      access: { project: 'viewer', scope: 'logs:read', environment: 'handler' },
      tag,
      summary: 'Shows the logs of a deployment: its build, and those of its pods that still exist.',
      query: logsQuery,
      replies: { 200: deploymentLogs },
      async handle({ params: { project, id }, query, grant }) {
        const deployment = await findDeployment(pool, project, id, grant);
        return { status: 200, body: await readDeploymentLogs({ pool, kube }, deployment, query.tail) };
      },
    }),
    route({
      method: 'POST',
      path: '/projects/:project/apps/:app/promote',
      access: { project: 'deployer', scope: 'deploy' },
      tag,
      summary: 'Deploys the image that an app runs in one environment to the same app in another environment.',
      audit: 'app.promote',
      body: promotionCreate,
      replies: { 202: deploymentAccepted },
      async handle(request) {
        const { params, body } = request;
        const actor = actorOf(sessionOf(request));
        const deployment = await preparePromotion(kube, { ...params, ...body, actor });
        const reply = await accept({ pool, baseUrl, project: params.project, deployment });
        return { ...reply, audit: { ...reply.audit, ...body } };
      },
    }),
  ];
}
