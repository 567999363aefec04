import type { Pool } from 'pg';
import { accept } from '../../runtime/host/accept.ts';
import { pageOfRows } from '../../runtime/host/page.ts';
import { findDeployment } from '../../runtime/host/project-deployment.ts';
import { route, sessionOf, type Route } from '../../runtime/host/route.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { listProjectDeployments } from '../../runtime/records/deployment-lists.ts';
import { deploymentToView } from '../../runtime/records/deployment-view.ts';
import { readDeploymentLogs } from './logs.ts';
import { checkNamed } from './named.ts';
import { preparePromotion } from './promote.ts';
import { deploymentLogsSchema, listDeploymentsSchema, promoteSchema } from './schema.ts';

export interface DeploymentDependencies {
  kube: KubeClient;
  pool: Pool;
  /** The public address of the management API. */
  baseUrl: string;
}

const tag = 'deployments';

/** Deployments of a whole project: their list, what they printed, and from one environment to another. */
export function createDeploymentRoutes({ kube, pool, baseUrl }: DeploymentDependencies): Route[] {
  return [
    route({
      ...listDeploymentsSchema,
      method: 'GET',
      path: '/projects/:project/deployments',
      access: { project: 'viewer' },
      tag,
      summary: 'Lists the deployments of all apps of a project, newest first; every filter is optional.',
      async handle({ params, query }) {
        const { limit, cursor, ...filters } = query;
        const found = await listProjectDeployments(pool, params.project, {
          ...filters,
          ...{ limit: limit + 1, before: cursor },
        });
        if (found.length === 0) await checkNamed({ kube, pool }, params.project, filters);
        return { status: 200, body: pageOfRows(found, limit, { cursorOf: ({ id }) => id, toItem: deploymentToView }) };
      },
    }),
    route({
      ...deploymentLogsSchema,
      method: 'GET',
      path: '/projects/:project/deployments/:id/logs',
      access: { project: 'viewer' },
      tag,
      summary: 'Shows what a deployment printed: its build, and its pods as far as they are still there.',
      async handle({ params: { project, id }, query }) {
        const found = await findDeployment(pool, project, id);
        return { status: 200, body: await readDeploymentLogs({ pool, kube }, found, query.tail) };
      },
    }),
    route({
      ...promoteSchema,
      method: 'POST',
      path: '/projects/:project/apps/:app/promote',
      access: { project: 'deployer' },
      tag,
      summary: 'Deploys what an app runs in one environment to the app of the same name in another one.',
      async handle(request) {
        const { params, body, log } = request;
        const actor = sessionOf(request).email;
        const deployment = await preparePromotion(kube, { ...params, ...body, actor });
        const onAccepted = ({ revision }: { revision: number | null }) =>
          log.info({ app: params.app, ...body, revision, actor }, 'app promoted');
        return accept({ pool, baseUrl, project: params.project, deployment, onAccepted });
      },
    }),
  ];
}
