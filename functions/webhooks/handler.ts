import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { webhookDeploy } from '../../runtime/contracts/api/apps.ts';
import { generateWebhookToken } from '../../runtime/domain/api-key.ts';
import { checkImage } from '../../runtime/domain/image.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { findApp, findLivingApp } from '../../runtime/host/app-request.ts';
import { accept } from '../../runtime/host/accept.ts';
import { parseJson } from '../../runtime/host/http-body.ts';
import { route, sessionOf, type Route, type RouteRequest } from '../../runtime/host/route.ts';
import { workloadIdOf } from '../../runtime/host/workload-objects.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import {
  disableWebhook,
  enableWebhook,
  findWebhook,
  webhookGuard,
  type Webhook,
} from '../../runtime/records/webhooks.ts';
import { deployWebhookSchema, disableWebhookSchema, enableWebhookSchema, getWebhookSchema } from './schema.ts';
import type { TokenStore } from './token-store.ts';
import type { VerifyWebhook } from './verify.ts';

export interface WebhookDependencies {
  kube: KubeClient;
  pool: Pool;
  tokens: TokenStore;
  verify: VerifyWebhook;
  /** The public address of the management API. */
  baseUrl: string;
}

const tag = 'webhooks';
const path = '/projects/:project/apps/:app/webhook';

function audit(
  request: Pick<RouteRequest<{ app: string }, unknown, unknown>, 'log' | 'params' | 'session'>,
  namespace: string,
  action: string,
): void {
  request.log.info({ action, app: request.params.app, namespace, actor: sessionOf(request).email }, 'webhook changed');
}

/** An app's deploy webhook (spec.md §2.3, §4.3): enable, show, disable, and the URL that a CI system calls. */
export function createWebhookRoutes(dependencies: WebhookDependencies): Route[] {
  const { kube, pool, tokens, verify, baseUrl } = dependencies;
  const view = ({ namespace, app }: { namespace: string; app: string }, state: Webhook, token?: string) => ({
    enabled: state.enabled,
    url: `${baseUrl}/api/v1/webhook/${namespace}/${app}`,
    ...(state.enabled && token !== undefined && { token }),
    version: state.version,
    updatedAt: state.updatedAt.toISOString(),
  });

  return [
    route({
      ...enableWebhookSchema,
      method: 'PUT',
      path,
      access: { project: 'admin' },
      tag,
      summary: 'Enables the webhook with a new token; an older token stops working.',
      async handle(request) {
        const { params } = request;
        const { environment, app } = await findLivingApp(kube, request);
        const id = workloadIdOf(app);
        const token = generateWebhookToken();
        const before = await findWebhook(pool, id);
        // The Secret first: a crash in between leaves a version that never counts.
        const version = await tokens.write(app, token, before?.version ?? 0);
        const enabled = await enableWebhook(pool, id, version);
        const state = await findWebhook(pool, id);
        if (!enabled || !state) {
          throw new Problem('conflict', 'Somebody else has just made a new token; `svc app webhook status` shows it.');
        }
        audit(request, environment.namespace, before ? 'webhook.regenerate' : 'webhook.enable');
        return { status: 200, body: view({ namespace: environment.namespace, app: params.app }, state, token) };
      },
    }),
    route({
      ...getWebhookSchema,
      method: 'GET',
      path,
      access: { project: 'admin' },
      tag,
      summary: 'Shows whether the webhook is enabled, with its URL and token.',
      async handle({ params, query }) {
        const { environment, app } = await findApp(kube, { params, query });
        const workloadId = workloadIdOf(app);
        const state = await findWebhook(pool, workloadId);
        if (!state) return { status: 200, body: { enabled: false } };
        const at = { namespace: environment.namespace, app: params.app };
        const token = state.enabled ? await tokens.read(at, { workloadId, version: state.version }) : undefined;
        return { status: 200, body: view(at, state, token) };
      },
    }),
    route({
      ...disableWebhookSchema,
      method: 'DELETE',
      path,
      access: { project: 'admin' },
      tag,
      summary: 'Disables the webhook; its token stops working.',
      async handle(request) {
        const { environment, app } = await findApp(kube, request);
        await disableWebhook(pool, workloadIdOf(app));
        audit(request, environment.namespace, 'webhook.disable');
        return { status: 204 };
      },
    }),
    route({
      ...deployWebhookSchema,
      method: 'POST',
      path: '/webhook/:namespace/:app',
      access: 'webhook',
      tag,
      summary: 'Deploys an image; the answer names where the deployment’s status can be read.',
      async handle(request) {
        const { params, headers, rawBody, log } = request;
        const { workloadId, project, version } = await verify({ ...params, headers, rawBody });
        // Only now is the body looked at: an answer about it would tell that the app exists.
        const { image, commit } = parseJson(webhookDeploy, rawBody, single(headers['content-type']));
        if (image === undefined) {
          throw new Problem(
            'invalid_request',
            `The app "${params.app}" runs an image: send {"image": "<name>:<tag>"}.`,
          );
        }
        checkImage(image);
        return accept({
          pool,
          baseUrl,
          project,
          deployment: {
            workloadId,
            trigger: 'webhook',
            image,
            commit,
            dedupKey: dedupKeyOf(headers),
            // Disabled or regenerated since the token was read: the lock of the app's row decides.
            guard: webhookGuard(version),
          },
          onAccepted: ({ id, revision, created }) =>
            log.info({ ...params, deploymentId: id, revision, created }, 'webhook accepted'),
        });
      },
    }),
  ];
}

function single(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A sender's own name for one delivery; a redelivery carries it again and must not deploy twice. */
function dedupKeyOf(headers: Readonly<Record<string, string | string[] | undefined>>): string | undefined {
  const key = single(headers['idempotency-key']) ?? single(headers['x-github-delivery']);
  if (key === undefined) return undefined;
  // Headers may be long; what is stored has one length.
  return `delivery:${key.length <= 100 ? key : createHash('sha256').update(key).digest('hex')}`;
}
