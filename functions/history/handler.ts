import type { Pool } from 'pg';
import { deploymentAccepted, deploymentView, rollbackCreate } from '../../runtime/contracts/api/apps.ts';
import { environmentQuery, idPageQuery, page } from '../../runtime/contracts/api/common.ts';
import { revisionQuery, revisionView } from '../../runtime/contracts/api/revisions.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { includesRole } from '../../runtime/domain/roles.ts';
import { includesScope } from '../../runtime/domain/token-scopes.ts';
import { accept } from '../../runtime/api/accept.ts';
import { objectRoutes } from '../../runtime/api/object-routes.ts';
import { findDeployment, lookUpDeployment } from '../../runtime/api/project-deployment.ts';
import { pageOfRows } from '../../runtime/http/page.ts';
import { actorOf, route, sessionOf, type Route, type RouteRequest } from '../../runtime/http/route.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { lockAppRow } from '../../runtime/records/app-lock.ts';
import { cancelDeployment } from '../../runtime/records/automatic-rollback.ts';
import { deploymentToView } from '../../runtime/records/deployment-view.ts';
import { listDeployments, rollbackTarget, sameImage } from '../../runtime/records/deployments.ts';
import { invalidWebhookToken } from '../../runtime/records/webhooks.ts';
import { workloadIdOf } from '../../runtime/workloads/objects.ts';
import { checkRestorable } from './restore.ts';
import { readRevision } from './revision.ts';

export interface HistoryDependencies {
  kube: KubeClient;
  pool: Pool;
  /** Verifies that a request carries the app's webhook token. @throws Problem `invalid_webhook_token` */
  verifyToken: (request: {
    namespace: string;
    app: string;
    headers: Readonly<Record<string, string | string[] | undefined>>;
    rawBody: Buffer;
  }) => Promise<{ receiver: { workloadId: Id } }>;
  /** The public address of the management API. */
  baseUrl: string;
}

const tag = 'history';

/** An app's deployments, rollback and cancellation (docs/reference/deployments.md#history). */
export function createHistoryRoutes({ kube, pool, verifyToken, baseUrl }: HistoryDependencies): Route[] {
  const apps = objectRoutes<App>(kube, 'App');

  return [
    apps.route({
      method: 'GET',
      path: '/history',
      access: { project: 'viewer', scope: 'read' },
      tag,
      summary: 'Lists the deployments of an app, newest first.',
      query: environmentQuery.extend(idPageQuery.shape),
      replies: { 200: page(deploymentView) },
      async handle({ query: { limit, cursor }, find }) {
        const rows = await listDeployments(pool, workloadIdOf(await find()), { limit: limit + 1, before: cursor });
        return { status: 200, body: pageOfRows(rows, limit, { cursorOf: ({ id }) => id, toItem: deploymentToView }) };
      },
    }),
    apps.route({
      method: 'GET',
      path: '/revisions/:revision',
      access: { project: 'viewer', scope: 'read' },
      tag,
      summary:
        'Shows a revision with its settings, variables and names of secrets, and what differs from another revision.',
      query: revisionQuery,
      replies: { 200: revisionView },
      async handle({ params, query: { compareWith }, session, grant, find }) {
        const revision = revisionNumber(params.revision);
        const seesOldValues = mayRestore({ session, grant });
        const request = { app: await find(), revision, compareWith, seesOldValues };
        return { status: 200, body: await readRevision({ kube, pool }, request) };
      },
    }),
    apps.route({
      method: 'POST',
      path: '/rollback',
      access: { project: 'deployer', scope: 'deploy' },
      tag,
      summary:
        'Deploys the image of an earlier revision as a new revision, with the latest variables and secrets, or with the environment and settings of that revision (`withConfig`).',
      audit: 'app.rollback',
      body: rollbackCreate,
      replies: { 202: deploymentAccepted },
      async handle({ body: { revision: requested, withConfig }, environment, actor, findLiving }) {
        const app = await findLiving();
        const workloadId = workloadIdOf(app);
        let revision = requested;
        if (withConfig) {
          // Checked before the transaction, which must not wait for Kubernetes.
          const target = await rollbackTarget(pool, workloadId, revision);
          await checkRestorable(kube, app, target);
          ({ revision } = target);
        }
        return accept({
          pool,
          baseUrl,
          project: environment.project,
          deployment: async (client) => {
            // The app's row is locked, so that the target is current when the rollback is accepted.
            await lockAppRow(client, workloadId);
            const target = await rollbackTarget(client, workloadId, revision);
            return {
              workloadId,
              trigger: 'rollback',
              ...sameImage(target),
              actor,
              rollbackOf: target.revision,
              ...(withConfig && { restores: 'config' as const }),
            };
          },
        });
      },
    }),
    route({
      method: 'POST',
      path: '/projects/:project/deployments/:id/cancel',
      access: { project: 'deployer', scope: 'deploy', environment: 'handler' },
      tag,
      summary: 'Cancels a deployment that is in progress. If its rollout has started, the app is rolled back.',
      audit: 'deployment.cancel',
      replies: { 200: deploymentView },
      async handle(request) {
        const { project, id } = request.params;
        await findDeployment(pool, project, id, request.grant);
        const { rollback } = await cancelDeployment(pool, id, actorOf(sessionOf(request)));
        const cancelled = await findDeployment(pool, project, id);
        const { app, environment, namespace, revision } = cancelled;
        const audit = { app, environment, namespace, revision, rollback };
        return { status: 200, body: deploymentToView(cancelled), audit };
      },
    }),
    route({
      method: 'GET',
      path: '/projects/:project/deployments/:id',
      access: { project: 'viewer', scope: 'read', environment: 'handler', orWebhook: true },
      tag,
      summary: 'Shows a deployment. The webhook token of its app is sufficient.',
      replies: { 200: deploymentView },
      async handle({ params: { project, id }, session, grant, headers, rawBody }) {
        if (session) return { status: 200, body: deploymentToView(await findDeployment(pool, project, id, grant)) };
        // Before the token is verified, the response does not show whether the deployment exists.
        const deployment = await lookUpDeployment(pool, project, id);
        const at = { namespace: deployment?.namespace ?? '', app: deployment?.app ?? '' };
        const { receiver } = await verifyToken({ ...at, headers, rawBody });
        // The deployment may belong to an earlier app of the same name.
        if (receiver.workloadId !== deployment?.workloadId) throw invalidWebhookToken();
        return { status: 200, body: deploymentToView(deployment) };
      },
    }),
  ];
}

/**
 * Whether the caller can restore a revision with its variables, and so read their values afterwards. For others, a value
 * that was replaced, such as a password in a variable, stays unreadable.
 */
function mayRestore({ session, grant }: Pick<RouteRequest<unknown, unknown, unknown>, 'session' | 'grant'>): boolean {
  const isDeployer = grant !== undefined && includesRole(grant.role, 'deployer');
  return isDeployer && (!session?.token || includesScope(session.token.scopes, 'deploy'));
}

/** @throws Problem `invalid_value` */
function revisionNumber(text: string): number {
  if (/^[1-9]\d{0,9}$/.test(text) && Number(text) <= 2_147_483_647) return Number(text);
  throw new Problem('invalid_value', 'The revision must be a number from 1 to 2147483647.', {
    details: { field: 'revision' },
  });
}
