import type { Pool } from 'pg';
import type { WebhookView } from '../../runtime/contracts/api/webhooks.ts';
import { generateWebhookToken } from '../../runtime/domain/api-key.ts';
import { checkBranchName } from '../../runtime/domain/git-source.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { findApp, findLivingApp } from '../../runtime/host/app-request.ts';
import { route, sessionOf, type Route, type RouteRequest } from '../../runtime/host/route.ts';
import { workloadIdOf } from '../../runtime/host/workload-objects.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import {
  changeWebhook,
  disableWebhook,
  enableWebhook,
  findWebhook,
  type Webhook,
  type WebhookSettings,
} from '../../runtime/records/webhooks.ts';
import { createDeliveryRoutes } from './delivery-routes.ts';
import { checkEnabled } from './enabled.ts';
import { checkTagPatterns } from './repository.ts';
import { createReceiveRoutes, type ReceiveDependencies } from './receive.ts';
import { changeWebhookSchema, disableWebhookSchema, enableWebhookSchema, getWebhookSchema } from './schema.ts';
import { signingSecret } from './signatures.ts';
import type { TokenStore } from './token-store.ts';
import { urlSecretHash } from './verify.ts';

export interface WebhookDependencies extends ReceiveDependencies {
  kube: KubeClient;
  pool: Pool;
  tokens: TokenStore;
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

/** What a body sets, and the new secret of the URL when it asks for one. @throws Problem `invalid_value` */
function settingsOf(body: {
  branch?: string | null | undefined;
  tags?: string | null | undefined;
  secretUrl?: boolean | undefined;
}): { settings: WebhookSettings; urlSecret: string | undefined } {
  const { branch, tags, secretUrl } = body;
  if (typeof branch === 'string') checkBranchName(branch);
  if (typeof tags === 'string') checkTagPatterns(tags);
  const urlSecret = secretUrl ? generateWebhookToken() : undefined;
  const hash =
    secretUrl === undefined ? {} : { urlSecretHash: urlSecret === undefined ? null : urlSecretHash(urlSecret) };
  return { settings: { branch, tags, ...hash }, urlSecret };
}

/** An app's deploy webhook (spec.md §2.3, §4.3): enable, set, show, disable, what was delivered, and the URL itself. */
export function createWebhookRoutes(dependencies: WebhookDependencies): Route[] {
  const { kube, pool, tokens, baseUrl } = dependencies;
  const view = (
    { namespace, app }: { namespace: string; app: string },
    state: Webhook,
    shown: { token?: string | undefined; urlSecret?: string | undefined },
  ): WebhookView => {
    const url = `${baseUrl}/api/v1/webhook/${namespace}/${app}`;
    const { enabled, version, branch, tags, previousUntil } = state;
    const token = enabled ? shown.token : undefined;
    return {
      enabled,
      url,
      ...(token !== undefined && { token, signingSecret: signingSecret(token) }),
      ...(previousUntil && { graceUntil: previousUntil.toISOString() }),
      version,
      ...(branch !== null && { branch }),
      ...(tags !== null && { tags }),
      hasSecretUrl: state.urlSecretHash !== null,
      ...(shown.urlSecret !== undefined && { secretUrl: `${url}/${shown.urlSecret}` }),
      updatedAt: state.updatedAt.toISOString(),
    };
  };

  return [
    route({
      ...enableWebhookSchema,
      method: 'PUT',
      path,
      access: { project: 'admin' },
      tag,
      summary: 'Enables the webhook with a new token; an older token stops working, at once or after a grace.',
      async handle(request) {
        const { params, body } = request;
        const { environment, app } = await findLivingApp(kube, request);
        const id = workloadIdOf(app);
        const { settings, urlSecret } = settingsOf(body);
        const token = generateWebhookToken();
        const before = await findWebhook(pool, id);
        // The Secret first: a crash in between leaves a version that never counts.
        const version = await tokens.write(app, token, before?.version ?? 0);
        const enabled = await enableWebhook(pool, id, version, body.graceSeconds);
        if (enabled) await changeWebhook(pool, id, settings);
        const state = await findWebhook(pool, id);
        if (!enabled || !state) {
          throw new Problem('conflict', 'Somebody else has just made a new token; `svc app webhook status` shows it.');
        }
        audit(request, environment.namespace, before ? 'webhook.regenerate' : 'webhook.enable');
        const at = { namespace: environment.namespace, app: params.app };
        return { status: 200, body: view(at, state, { token, urlSecret }) };
      },
    }),
    route({
      ...changeWebhookSchema,
      method: 'PATCH',
      path,
      access: { project: 'admin' },
      tag,
      summary: 'Changes which branch and tags deploy, and whether there is a secret URL; the token stays.',
      async handle(request) {
        const { environment, app } = await findLivingApp(kube, request);
        const workloadId = workloadIdOf(app);
        const before = await findWebhook(pool, workloadId);
        checkEnabled(before, request.params.app);
        const { settings, urlSecret } = settingsOf(request.body);
        await changeWebhook(pool, workloadId, settings);
        const state = (await findWebhook(pool, workloadId)) ?? before;
        audit(request, environment.namespace, 'webhook.change');
        const at = { namespace: environment.namespace, app: request.params.app };
        const [token] = await tokens.read(at, { workloadId, versions: [state.version] });
        return { status: 200, body: view(at, state, { token, urlSecret }) };
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
        const [token] = state.enabled ? await tokens.read(at, { workloadId, versions: [state.version] }) : [];
        return { status: 200, body: view(at, state, { token }) };
      },
    }),
    route({
      ...disableWebhookSchema,
      method: 'DELETE',
      path,
      access: { project: 'admin' },
      tag,
      summary: 'Disables the webhook; its token and its secret URL stop working.',
      async handle(request) {
        const { environment, app } = await findApp(kube, request);
        await disableWebhook(pool, workloadIdOf(app));
        audit(request, environment.namespace, 'webhook.disable');
        return { status: 204 };
      },
    }),
    ...createDeliveryRoutes(dependencies),
    ...createReceiveRoutes(dependencies),
  ];
}
