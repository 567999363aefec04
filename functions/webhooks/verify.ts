import { hash, timingSafeEqual } from 'node:crypto';
import type { Pool } from 'pg';
import { generateWebhookToken } from '../../runtime/domain/api-key.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { equalInConstantTime } from '../../runtime/domain/constant-time.ts';
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

/** The webhook of a verified request. */
export interface VerifiedWebhook {
  receiver: Receiver & { webhook: Webhook };
  /** The proof, which must still be valid when a deployment is accepted. */
  proof: WebhookProof;
  /** The token, to be masked in stored texts; undefined for a secret URL. */
  token: string | undefined;
}

interface WebhookRequest {
  namespace: string;
  app: string;
  headers: Headers;
  rawBody: Buffer;
}

/** Verifies that the sender of a request knows the app's token. @throws Problem `invalid_webhook_token` */
export type VerifyWebhook = (request: WebhookRequest) => Promise<VerifiedWebhook>;

const dnsLabel = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Whether both have the form of a name; other text in the path may be a secret. */
export function areValidNames({ namespace, app }: { namespace: string; app: string }): boolean {
  return dnsLabel.test(namespace) && dnsLabel.test(app);
}

/** If `X-Svc-Token` is present, only that header counts; a valid signature does not replace a wrong token. */
function provesToken(token: string, headers: Headers, rawBody: Buffer, now: Date): boolean {
  const sent = headers['x-svc-token'];
  if (sent !== undefined) return typeof sent === 'string' && equalInConstantTime(sent, token);
  return senderOf(headers).proves(token, { headers, rawBody, now });
}

/**
 * Every failure has the same response and takes the same reads, so that neither shows which apps exist, which have a
 * webhook, or what was wrong (docs/reference/webhook.md#token). Only a valid token that is cached skips the read from the
 * cluster.
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
  const decoyToken = generateWebhookToken();
  return async ({ namespace, app, headers, rawBody }) => {
    if (!areValidNames({ namespace, app })) throw invalidWebhookToken();
    const receiver = await find({ namespace, app });
    const webhook = receiver?.webhook;
    const current = webhook?.version ?? 1;
    // Always two, so that the duration does not show whether there is a grace period.
    const versions = [current, webhook?.previousVersion ?? current];
    const now = clock.now();
    const provenIndex = (candidates: readonly (string | undefined)[]) => {
      const matches = candidates.map(
        (token) => provesToken(token ?? decoyToken, headers, rawBody, now) && token !== undefined,
      );
      return matches.indexOf(true);
    };
    let candidates = receiver ? versions.map((version) => tokens.cached(receiver.workloadId, version)) : [];
    let index = provenIndex(candidates);
    if (index < 0) {
      candidates = await tokens.read({ namespace, app }, { workloadId: webhook && receiver?.workloadId, versions });
      index = provenIndex(candidates);
    }
    const version = versions[index];
    if (!receiver || !webhook?.enabled || version === undefined) throw invalidWebhookToken();
    return { receiver: { ...receiver, webhook }, proof: { version }, token: candidates[index] };
  };
}

/** SHA-256 of the last part of a secret URL, which is stored instead of it. */
export function urlSecretHash(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

/** Verifies the last part of an app's secret URL. @throws Problem `invalid_webhook_token` */
export type VerifySecretUrl = (request: { namespace: string; app: string; secret: string }) => Promise<VerifiedWebhook>;

export function createVerifySecretUrl({ pool }: { pool: Pool }): VerifySecretUrl {
  const decoyHash = urlSecretHash(generateWebhookToken());
  return async ({ namespace, app, secret }) => {
    if (!areValidNames({ namespace, app })) throw invalidWebhookToken();
    const receiver = await findReceiver(pool, namespace, app);
    const webhook = receiver?.webhook;
    const stored = webhook?.urlSecretHash;
    const sent = urlSecretHash(secret);
    const matches = timingSafeEqual(sent, stored ?? decoyHash);
    if (!receiver || !webhook?.enabled || !stored || !matches) throw invalidWebhookToken();
    return { receiver: { ...receiver, webhook }, proof: { urlSecretHash: sent }, token: undefined };
  };
}
