import type { Pool } from 'pg';
import { webhookChange, webhookEnable, webhookView, type WebhookView } from '../../runtime/contracts/api/webhooks.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { generateWebhookToken } from '../../runtime/domain/api-key.ts';
import { checkBranchName } from '../../runtime/domain/git-source.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { objectRoutes } from '../../runtime/api/object-routes.ts';
import type { Route } from '../../runtime/http/route.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Environment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import {
  changeWebhook,
  disableWebhook,
  enableWebhook,
  findWebhook,
  type Webhook,
  type WebhookSettings,
} from '../../runtime/records/webhooks.ts';
import { workloadIdOf } from '../../runtime/workloads/objects.ts';
import { createDeliveryRoutes } from './delivery-routes.ts';
import { checkEnabled } from './enabled.ts';
import { createRecordWait } from './record-wait.ts';
import { createReceiveRoutes, type ReceiveDependencies } from './receive.ts';
import { checkTagPatterns } from './repository.ts';
import { signingSecret } from './signatures.ts';
import type { TokenStore } from './token-store.ts';
import { urlSecretHash } from './verify.ts';

export interface WebhookDependencies extends ReceiveDependencies {
  kube: KubeClient;
  pool: Pool;
  tokens: TokenStore;
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
}

/** An app's webhook (docs/reference/webhook.md): its settings, its delivery log, and the URLs that senders call. */
export function createWebhookRoutes(dependencies: WebhookDependencies): Route[] {
  const { kube, pool, tokens, baseUrl } = dependencies;
  const untilRecorded = createRecordWait(dependencies);
  const apps = objectRoutes<App>(kube, 'App');
  const common = { path: '/webhook', access: { project: 'admin' }, tag: 'webhooks' } as const;
  const replies = { 200: webhookView };
  /** @param secrets the secrets to show */
  const webhookToView = (
    { namespace }: Environment,
    app: string,
    webhook: Webhook,
    secrets: { token?: string | undefined; urlSecret?: string | undefined },
  ): WebhookView => {
    const url = `${baseUrl}/api/v1/webhook/${namespace}/${app}`;
    const { enabled, version, branch, tags, previousUntil } = webhook;
    const token = enabled ? secrets.token : undefined;
    return {
      enabled,
      url,
      ...(token !== undefined && { token, signingSecret: signingSecret(token) }),
      ...(previousUntil && { graceUntil: previousUntil.toISOString() }),
      version,
      ...(branch !== null && { branch }),
      ...(tags !== null && { tags }),
      hasSecretUrl: webhook.urlSecretHash !== null,
      ...(secrets.urlSecret !== undefined && { secretUrl: `${url}/${secrets.urlSecret}` }),
      updatedAt: webhook.updatedAt.toISOString(),
    };
  };

  return [
    apps.route({
      ...common,
      method: 'PUT',
      summary: 'Enables the webhook with a new token. An existing token expires, immediately or after a grace period.',
      audit: 'webhook.enable',
      body: webhookEnable,
      replies,
      async handle({ body, environment, name, findLiving, signal }) {
        const app = await findLiving();
        const id = workloadIdOf(app);
        await untilRecorded(id, signal);
        const { settings, urlSecret } = newSettings(body);
        const token = generateWebhookToken();
        const current = await findWebhook(pool, id);
        const { graceSeconds, replaces } = body;
        if (replaces !== undefined && replaces !== (current?.version ?? 0)) throw newerToken();
        // The Secret is written first: a crash before the second write leaves a version that is never valid.
        const version = await tokens.write(app, token, current?.version ?? 0);
        const enabled = await enableWebhook(pool, id, version, { graceSeconds, replaces });
        if (enabled) await changeWebhook(pool, id, settings);
        const webhook = await findWebhook(pool, id);
        if (!enabled || !webhook) throw newerToken();
        const view = webhookToView(environment, name, webhook, { token, urlSecret });
        return { status: 200, body: view, audit: { regenerated: current !== undefined } };
      },
    }),
    apps.route({
      ...common,
      method: 'PATCH',
      summary: 'Changes the webhook’s branch filter, tag filter and secret URL. The token stays valid.',
      audit: 'webhook.update',
      body: webhookChange,
      replies,
      async handle({ body, environment, name, findLiving }) {
        const workloadId = workloadIdOf(await findLiving());
        const current = await findWebhook(pool, workloadId);
        checkEnabled(current, name);
        const { settings, urlSecret } = newSettings(body);
        await changeWebhook(pool, workloadId, settings);
        const webhook = (await findWebhook(pool, workloadId)) ?? current;
        const at = { namespace: environment.namespace, app: name };
        const [token] = await tokens.read(at, { workloadId, versions: [webhook.version] });
        return { status: 200, body: webhookToView(environment, name, webhook, { token, urlSecret }) };
      },
    }),
    apps.route({
      ...common,
      method: 'GET',
      summary: 'Shows the webhook with its URL and token.',
      replies,
      async handle({ environment, name, find }) {
        const workloadId = workloadIdOf(await find());
        const webhook = await findWebhook(pool, workloadId);
        if (!webhook) return { status: 200, body: { enabled: false } };
        const at = { namespace: environment.namespace, app: name };
        const [token] = webhook.enabled ? await tokens.read(at, { workloadId, versions: [webhook.version] }) : [];
        return { status: 200, body: webhookToView(environment, name, webhook, { token }) };
      },
    }),
    apps.route({
      ...common,
      method: 'DELETE',
      summary: 'Disables the webhook. Its token and its secret URL stop working.',
      audit: 'webhook.disable',
      replies: { 204: null },
      async handle({ find }) {
        await disableWebhook(pool, workloadIdOf(await find()));
        return { status: 204 };
      },
    }),
    ...createDeliveryRoutes(apps, dependencies),
    ...createReceiveRoutes(dependencies),
  ];
}

function newerToken(): Problem {
  const message = 'Another request created a new token in the meantime. Show it with `svc app webhook status`.';
  return new Problem('conflict', message);
}

/** The settings of a request body, and a new secret for the URL if requested. @throws Problem `invalid_value` */
function newSettings(body: {
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
