import type { Pool } from 'pg';
import { generateWebhookToken } from '../../runtime/domain/api-key.ts';
import { newId, type Id } from '../../runtime/domain/ids.ts';
import { findWebhook, invalidWebhookToken } from '../../runtime/records/webhooks.ts';
import { findWorkload } from '../../runtime/records/workloads.ts';
import { provesToken } from './proof.ts';
import type { TokenStore } from './token-store.ts';

/** Whose token was proven. */
export interface ProvenWebhook {
  workloadId: Id;
  project: string;
  /** The token's version, which has to count still when something is accepted. */
  version: number;
}

export interface WebhookRequest {
  namespace: string;
  app: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  rawBody: Buffer;
}

/** Checks that a request carries the app's token. @throws Problem `invalid_webhook_token` */
export type VerifyWebhook = (request: WebhookRequest) => Promise<ProvenWebhook>;

const dnsLabel = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Every failure has one answer and takes the same look-ups: a stranger does not learn which apps exist, which have a
 * webhook, or what was wrong (field notes: two different texts tell).
 */
export function createVerifyWebhook({ pool, tokens }: { pool: Pool; tokens: Pick<TokenStore, 'read'> }): VerifyWebhook {
  const nobodysToken = generateWebhookToken();
  const nobodysId = newId();
  return async ({ namespace, app, headers, rawBody }) => {
    // What is no name at all never reaches a store.
    if (!dnsLabel.test(namespace) || !dnsLabel.test(app)) throw invalidWebhookToken();
    const found = await findWorkload(pool, namespace, app);
    const workload = found?.kind === 'App' ? found : undefined;
    const webhook = await findWebhook(pool, workload?.id ?? nobodysId);
    const version = webhook?.version ?? 1;
    const token = await tokens.read({ namespace, app }, { workloadId: webhook && workload?.id, version });
    const proven = provesToken(token ?? nobodysToken, headers, rawBody);
    if (!workload || !webhook?.enabled || token === undefined || !proven) throw invalidWebhookToken();
    return { workloadId: workload.id, project: workload.project, version };
  };
}
