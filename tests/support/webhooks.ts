import type { Pool } from 'pg';
import { Registry } from 'prom-client';
import { createAcceptanceNotifier, type AcceptanceNotifier } from '../../functions/webhooks/acceptance-notifier.ts';
import { createBuildsReader } from '../../functions/webhooks/build-registry.ts';
import type { WebhookDependencies } from '../../functions/webhooks/handler.ts';
import { createDeploymentWaiter, type DeploymentWaiter } from '../../functions/webhooks/deployment-completion.ts';
import { createRateLimit, type WebhookRate } from '../../functions/webhooks/rate-limit.ts';
import { createDeliveryHandler } from '../../functions/webhooks/delivery-handler.ts';
import type { TokenStore } from '../../functions/webhooks/token-store.ts';
import { createVerifySecretUrl, createVerifyWebhook } from '../../functions/webhooks/verify.ts';
import { systemClock, type Clock } from '../../runtime/domain/clock.ts';
import type { FakeKube } from './fake-kube.ts';
import { silentLog } from './log.ts';

/** The dependencies of the webhook routes, as in console-api. */
export function webhookParts({
  kube,
  pool,
  tokens,
  clock = systemClock,
  registry = new Registry(),
  rate = { perSecond: 2, burst: 100 },
}: {
  kube: FakeKube;
  pool: Pool;
  tokens: TokenStore;
  clock?: Clock;
  registry?: Registry;
  rate?: WebhookRate;
}): WebhookDependencies & { deployments: DeploymentWaiter; notifier: AcceptanceNotifier } {
  const notifier = createAcceptanceNotifier({ pool, clock: noDelay, log: silentLog });
  return {
    kube,
    pool,
    tokens,
    clock,
    registry,
    verify: createVerifyWebhook({ pool, tokens, clock }),
    verifySecretUrl: createVerifySecretUrl({ pool }),
    limit: createRateLimit({ clock, rate }),
    deployments: createDeploymentWaiter({ pool, clock }),
    notifier,
    handleDelivery: createDeliveryHandler({ pool, notifier, readBuilds: createBuildsReader({ kube, clock }) }),
    baseUrl: 'http://console.test',
  };
}

const noDelay: Clock = { ...systemClock, sleep: () => Promise.resolve() };

/** Calls `work` once, after a sender was verified and before its deployment is accepted. */
export function beforeAccepting(pool: Pool, work: () => Promise<unknown>): void {
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>;
  const intercepted = async (...args: unknown[]) => {
    if ((args[0] as { name?: string }).name === 'accept-webhook-deliveries') {
      Object.assign(pool, { query });
      await work();
    }
    return query(...args);
  };
  Object.assign(pool, { query: intercepted });
}
