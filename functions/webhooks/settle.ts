import { hash } from 'node:crypto';
import type { Pool } from 'pg';
import type { Id } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { Acceptance } from '../../runtime/records/deployments.ts';
import { insertDelivery, type NewDelivery } from '../../runtime/records/webhook-deliveries.ts';
import type { Receiver, Webhook, WebhookProof } from '../../runtime/records/webhooks.ts';
import type { AcceptDelivery } from './accept.ts';
import { decide, type Decision, type Target } from './decide.ts';
import type { Notice } from './notice.ts';

/** What came in, whoever sent it. */
export interface Incoming {
  namespace: string;
  app: string;
  receiver: Receiver & { webhook: Webhook };
  /** What was proved by the sender; undefined for a person, whose role was checked. */
  proof?: WebhookProof | undefined;
  sender: string;
  event?: string | undefined;
  /** A name under which the same delivery is accepted once. */
  deliveryId?: string | undefined;
  redeliveryOf?: Id | undefined;
  actor?: string | undefined;
  body: string;
  bodyBytes: number;
}

/** What settling takes. */
export interface SettleDependencies {
  pool: Pool;
  accept: AcceptDelivery;
}

/** What became of it. */
export type Settled = { delivery: Id } & (
  | { verdict: 'ignored'; reason: string }
  | { verdict: 'accepted' | 'duplicate' | 'skipped'; deployment: Acceptance; reason?: string | undefined }
);

/** A sender's own name for a delivery as a key of one length. */
function dedupKey(deliveryId: string | undefined): string | undefined {
  if (deliveryId === undefined) return undefined;
  return `delivery:${deliveryId.length <= 100 ? deliveryId : hash('sha256', deliveryId)}`;
}

/** What decides about a request: the app and its webhook as they were found. */
export function targetOf({ app, receiver: { image, gitBranch, webhook } }: Incoming): Target {
  const { branch, tags } = webhook;
  return { app, image, gitBranch: gitBranch ?? undefined, branch, tags };
}

/** The row of the delivery log that says what came in. */
export function deliveryOf(incoming: Incoming): Omit<NewDelivery, 'verdict' | 'status'> {
  const { receiver, sender, event, deliveryId, redeliveryOf, actor, body, bodyBytes } = incoming;
  return { workloadId: receiver.workloadId, sender, event, deliveryId, redeliveryOf, actor, body, bodyBytes };
}

/**
 * Does what a notice asks for, and records the delivery with it. A refusal that is the request's own fault is recorded, too.
 * @throws Problem as `decide` and `acceptDeployment` do, and `invalid_webhook_token` when the proof counts no more
 */
export async function settle(
  dependencies: SettleDependencies,
  incoming: Incoming,
  read: () => Notice,
): Promise<Settled> {
  let notice: Notice | undefined;
  try {
    notice = read();
    return await carryOut(dependencies, incoming, notice, decide(notice, targetOf(incoming)));
  } catch (error) {
    if (error instanceof Problem && error.status < 500 && error.code !== 'invalid_webhook_token') {
      await insertDelivery(dependencies.pool, {
        ...deliveryOf(incoming),
        ...{ notice, verdict: 'refused', status: error.status, code: error.code, reason: error.message },
      });
    }
    throw error;
  }
}

async function carryOut(
  { pool, accept }: SettleDependencies,
  incoming: Incoming,
  notice: Notice,
  decision: Decision,
): Promise<Settled> {
  const log = { ...deliveryOf(incoming), notice };
  if (decision.verdict === 'ignore') {
    const { reason } = decision;
    const delivery = await insertDelivery(pool, { ...log, verdict: 'ignored', status: 200, reason });
    return { verdict: 'ignored', reason, delivery };
  }
  const { verdict, ...what } = decision;
  const reason = decision.verdict === 'skip' ? decision.reason : undefined;
  const { receiver, proof, actor, deliveryId } = incoming;
  const common = { workloadId: receiver.workloadId, trigger: 'webhook', actor, proof } as const;
  const asked = { ...common, dedupKey: dedupKey(deliveryId), ...what };
  const {
    delivery,
    verdict: became,
    ...deployment
  } = await accept({ delivery: { ...log, reason }, deployment: asked, skipped: verdict === 'skip' });
  return { verdict: became, deployment, reason, delivery };
}
