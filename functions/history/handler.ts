import type { Pool } from 'pg';
import type { Id } from '../../runtime/domain/ids.ts';
import { findApp, findLivingApp } from '../../runtime/host/app-request.ts';
import { accept } from '../../runtime/host/accept.ts';
import { pageOfRows } from '../../runtime/host/page.ts';
import { findDeployment, lookUpDeployment } from '../../runtime/host/project-deployment.ts';
import { route, sessionOf, type Route } from '../../runtime/host/route.ts';
import { workloadIdOf } from '../../runtime/host/workload-objects.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { holdApp } from '../../runtime/records/app-lock.ts';
import { cancelDeployment } from '../../runtime/records/deployment-returns.ts';
import { deploymentToView } from '../../runtime/records/deployment-view.ts';
import { listDeployments, rollbackTarget, sameImage } from '../../runtime/records/deployments.ts';
import { invalidWebhookToken } from '../../runtime/records/webhooks.ts';
import { checkRestorable } from './restore.ts';
import { cancelSchema, deploymentSchema, historySchema, rollbackSchema } from './schema.ts';

export interface HistoryDependencies {
  kube: KubeClient;
  pool: Pool;
  /** Checks that a request carries the app's webhook token. @throws Problem `invalid_webhook_token` */
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
const path = '/projects/:project/apps/:app';

/** What was deployed, how it ended, and the way back (spec.md §2.4). */
export function createHistoryRoutes(dependencies: HistoryDependencies): Route[] {
  const { kube, pool, verifyToken, baseUrl } = dependencies;

  return [
    route({
      ...historySchema,
      method: 'GET',
      path: `${path}/history`,
      access: { project: 'viewer' },
      tag,
      summary: 'Lists the deployments of an app, the newest first.',
      async handle(request) {
        const { limit, cursor } = request.query;
        const { app } = await findApp(kube, request);
        const found = await listDeployments(pool, workloadIdOf(app), { limit: limit + 1, before: cursor });
        return { status: 200, body: pageOfRows(found, limit, { cursorOf: ({ id }) => id, toItem: deploymentToView }) };
      },
    }),
    route({
      ...rollbackSchema,
      method: 'POST',
      path: `${path}/rollback`,
      access: { project: 'deployer' },
      tag,
      summary:
        'Deploys the image of an earlier revision again, as a new revision: with the variables and secrets of now, or with the environment and settings of that revision.',
      async handle(request) {
        const { body } = request;
        const { environment, app } = await findLivingApp(kube, request);
        const workloadId = workloadIdOf(app);
        const actor = sessionOf(request).email;
        let { revision } = body;
        if (body.withConfig) {
          // Before the transaction, which must not wait for Kubernetes.
          const wanted = await rollbackTarget(pool, workloadId, revision);
          await checkRestorable(kube, app, wanted);
          revision = wanted.revision;
        }
        return accept({
          pool,
          baseUrl,
          project: environment.project,
          deployment: async (client) => {
            // The target is judged by what is there when this is accepted.
            await holdApp(client, workloadId);
            const target = await rollbackTarget(client, workloadId, revision);
            return {
              workloadId,
              trigger: 'rollback',
              ...sameImage(target),
              actor,
              rollbackOf: target.revision,
              ...(body.withConfig && { restores: 'config' as const }),
            };
          },
        });
      },
    }),
    route({
      ...cancelSchema,
      method: 'POST',
      path: '/projects/:project/deployments/:id/cancel',
      access: { project: 'deployer' },
      tag,
      summary:
        'Cancels a deployment that has not ended; what it had begun is undone by a rollback to the last good revision.',
      async handle(request) {
        const { project, id } = request.params;
        const actor = sessionOf(request).email;
        await findDeployment(pool, project, id);
        const { returned } = await cancelDeployment(pool, id, actor);
        const cancelled = await findDeployment(pool, project, id);
        const { app, namespace, revision } = cancelled;
        request.log.info({ app, namespace, revision, returned, actor }, 'deployment cancelled');
        return { status: 200, body: deploymentToView(cancelled) };
      },
    }),
    route({
      ...deploymentSchema,
      method: 'GET',
      path: '/projects/:project/deployments/:id',
      access: { project: 'viewer', orWebhook: true },
      tag,
      summary: 'Shows a deployment; the webhook token of its app may read it, too.',
      async handle({ params: { project, id }, session, headers, rawBody }) {
        if (session) return { status: 200, body: deploymentToView(await findDeployment(pool, project, id)) };
        // Without a session nothing is told before the token is proven, not even that there is no such deployment.
        const entry = await lookUpDeployment(pool, project, id);
        const at = { namespace: entry?.namespace ?? '', app: entry?.app ?? '' };
        const { receiver } = await verifyToken({ ...at, headers, rawBody });
        // An earlier app of the same name.
        if (receiver.workloadId !== entry?.workloadId) throw invalidWebhookToken();
        return { status: 200, body: deploymentToView(entry) };
      },
    }),
  ];
}
