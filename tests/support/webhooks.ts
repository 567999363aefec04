import type { Pool } from 'pg';
import { Registry } from 'prom-client';
import { createAccept } from '../../functions/webhooks/accept.ts';
import { createAnnouncements, type Announcements } from '../../functions/webhooks/announcements.ts';
import type { WebhookDependencies } from '../../functions/webhooks/handler.ts';
import { createDeploymentEnds } from '../../functions/webhooks/ends.ts';
import { createRateLimit, type WebhookRate } from '../../functions/webhooks/rate-limit.ts';
import type { TokenStore } from '../../functions/webhooks/token-store.ts';
import { createVerifySecretUrl, createVerifyWebhook } from '../../functions/webhooks/verify.ts';
import { systemClock, type Clock } from '../../runtime/domain/clock.ts';
import type { FakeKube } from './fake-kube.ts';
import { silentLog } from './log.ts';

/** What the webhooks' routes need, as console-api puts it together. */
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
}): WebhookDependencies & { ends: ReturnType<typeof createDeploymentEnds>; announcements: Announcements } {
  const announcements = createAnnouncements({ pool, clock: impatient, log: silentLog });
  return {
    ...{ kube, pool, tokens, registry },
    verify: createVerifyWebhook({ pool, tokens, clock }),
    verifySecretUrl: createVerifySecretUrl({ pool }),
    limit: createRateLimit({ clock, rate }),
    ends: createDeploymentEnds({ pool, clock }),
    ...{ announcements, accept: createAccept({ pool, announcements }) },
    baseUrl: 'http://console.test',
  };
}

/** Announces at once. */
const impatient: Clock = { ...systemClock, sleep: () => Promise.resolve() };

/** Has `work` done once, after a sender's proof and before what it sent is accepted. */
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
