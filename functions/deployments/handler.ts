import type { Pool } from 'pg';
import { z } from 'zod';
import { deploymentLogs, deploymentView } from '../../runtime/contracts/api/apps.ts';
import {
  deploymentState,
  deploymentTrigger,
  environmentQuery,
  idPageQuery,
  page,
} from '../../runtime/contracts/api/common.ts';
import { lineCount } from '../../runtime/contracts/api/logs.ts';
import { findDeployment } from '../../runtime/api/project-deployment.ts';
import { pageOfRows } from '../../runtime/http/page.ts';
import { route, type Route } from '../../runtime/http/route.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { listProjectDeployments } from '../../runtime/records/deployment-lists.ts';
import { deploymentToView } from '../../runtime/records/deployment-view.ts';
import { checkFilters } from './filters.ts';
import { defaultPodLines, readDeploymentLogs } from './logs.ts';

export interface DeploymentDependencies {
  kube: KubeClient;
  pool: Pool;
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

/** A project's deployments across apps: their list and their logs. */
export function createDeploymentRoutes({ kube, pool }: DeploymentDependencies): Route[] {
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
  ];
}
