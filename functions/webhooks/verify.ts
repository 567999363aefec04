import { hash, timingSafeEqual } from 'node:crypto';
import type { Pool } from 'pg';
import { generateWebhookToken } from '../../runtime/domain/api-key.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { sameText } from '../../runtime/domain/same-text.ts';
import {
  findReceiver,
  findReceivers,
  invalidWebhookToken,
  type AppName,
  type Receiver,
  type Webhook,
  type WebhookProof,
} from '../../runtime/records/webhooks.ts';
import { createBatches } from './batches.ts';
import { senderOf } from './senders/all.ts';
import type { Headers } from './signatures.ts';
import type { TokenStore } from './token-store.ts';

/** Whose token was proven, and with what. */
export interface ProvenWebhook {
  receiver: Receiver & { webhook: Webhook };
  /** What has to count still when something is accepted. */
  proof: WebhookProof;
  /** The token itself, which is kept out of what is stored; undefined when the URL was the secret. */
  token: string | undefined;
}

export interface WebhookRequest {
  namespace: string;
  app: string;
  headers: Headers;
  rawBody: Buffer;
}

/** Checks that a request proves that its sender knows the app's token. @throws Problem `invalid_webhook_token` */
export type VerifyWebhook = (request: WebhookRequest) => Promise<ProvenWebhook>;

const dnsLabel = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Whether both can be names at all; what somebody put into the path instead may be a secret. */
export function areNames({ namespace, app }: { namespace: string; app: string }): boolean {
  return dnsLabel.test(namespace) && dnsLabel.test(app);
}

/** `X-Svc-Token` decides when it is there: a wrong one is not made good by a signature. */
function proves(token: string, headers: Headers, rawBody: Buffer, now: Date): boolean {
  const given = headers['x-svc-token'];
  if (given !== undefined) return typeof given === 'string' && sameText(given, token);
  return senderOf(headers).proves(token, { headers, rawBody, now });
}

/**
 * Every failure has one answer and takes the same look-ups: a stranger does not learn which apps exist, which have a
 * webhook, or what was wrong (field notes: two different texts tell). Only who proves a token that was read before is
 * spared the look into the cluster.
 */
export function createVerifyWebhook({
  pool,
  tokens,
  clock,
}: {
  pool: Pool;
  tokens: Pick<TokenStore, 'read' | 'cached'>;
  clock: Clock;
}): VerifyWebhook {
  const find = createBatches({ run: (apps: readonly AppName[]) => findReceivers(pool, apps) });
  const nobodysToken = generateWebhookToken();
  return async ({ namespace, app, headers, rawBody }) => {
    // What is no name at all never reaches a store.
    if (!areNames({ namespace, app })) throw invalidWebhookToken();
    const receiver = await find({ namespace, app });
    const webhook = receiver?.webhook;
    const current = webhook?.version ?? 1;
    // Two in any case, so that time does not tell whether there is a grace.
    const versions = [current, webhook?.previousVersion ?? current];
    const now = clock.now();
    const provenBy = (candidates: readonly (string | undefined)[]) => {
      const fits = candidates.map(
        (token) => proves(token ?? nobodysToken, headers, rawBody, now) && token !== undefined,
      );
      return fits.indexOf(true);
    };
    const known = receiver ? versions.map((version) => tokens.cached(receiver.workloadId, version)) : [];
    let candidates = known;
    let proven = provenBy(known);
    if (proven < 0) {
      candidates = await tokens.read({ namespace, app }, { workloadId: webhook && receiver?.workloadId, versions });
      proven = provenBy(candidates);
    }
    const version = versions[proven];
    if (!receiver || !webhook?.enabled || version === undefined) throw invalidWebhookToken();
    return { receiver: { ...receiver, webhook }, proof: { version }, token: candidates[proven] };
  };
}

/** SHA-256 of the last part of a secret URL: what is stored of it. */
export function urlSecretHash(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

/** Checks the last part of an app's secret URL. @throws Problem `invalid_webhook_token` */
export type VerifySecretUrl = (request: { namespace: string; app: string; secret: string }) => Promise<ProvenWebhook>;

export function createVerifySecretUrl({ pool }: { pool: Pool }): VerifySecretUrl {
  const nobodys = urlSecretHash(generateWebhookToken());
  return async ({ namespace, app, secret }) => {
    if (!areNames({ namespace, app })) throw invalidWebhookToken();
    const receiver = await findReceiver(pool, namespace, app);
    const webhook = receiver?.webhook;
    const stored = webhook?.urlSecretHash;
    const given = urlSecretHash(secret);
    const fits = timingSafeEqual(given, stored ?? nobodys);
    if (!receiver || !webhook?.enabled || !stored || !fits) throw invalidWebhookToken();
    return { receiver: { ...receiver, webhook }, proof: { urlSecretHash: given }, token: undefined };
  };
}
