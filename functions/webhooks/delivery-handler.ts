import { hash } from 'node:crypto';
import type { Pool } from 'pg';
import type { BuildRegistry } from '../../runtime/domain/built-image.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { Acceptance } from '../../runtime/records/acceptance.ts';
import {
  acceptDeliveries,
  acceptDelivery,
  insertDelivery,
  type DeliveredRequest,
  type NewDelivery,
} from '../../runtime/records/webhook-deliveries.ts';
import type { Receiver, Webhook, WebhookProof } from '../../runtime/records/webhooks.ts';
import type { AcceptanceNotifier } from './acceptance-notifier.ts';
import { createBatches } from './batches.ts';
import { decide, type Decision, type Target } from './decide.ts';
import type { WebhookEvent } from './event.ts';

/** A delivery from a sender, or a redelivery or test by a user. */
export interface IncomingDelivery {
  app: string;
  namespace: string;
  receiver: Receiver & { webhook: Webhook };
  /** The sender's proof, which must still be valid at the commit; undefined for a user, whose role was checked. */
  proof?: WebhookProof | undefined;
  sender: string;
  event?: string | undefined;
  /** The id that is shown. */
  deliveryId?: string | undefined;
  /** Deliveries with the same one are accepted once. */
  identity?: string | undefined;
  redeliveryOf?: Id | undefined;
  actor?: string | undefined;
  body: string;
  bodyBytes: number;
  /** Only logs the outcome, and deploys nothing. */
  dryRun?: boolean;
}

/** The outcome of a delivery, and its id in the delivery log. */
export type DeliveryOutcome = { delivery: Id } & (
  | { verdict: 'ignored'; reason: string }
  | { verdict: 'accepted' | 'duplicate' | 'skipped'; deployment: Acceptance; reason?: string | undefined }
);

/**
 * Decides what a delivery does, then carries it out and records it in the delivery log, in one statement. A delivery that
 * is rejected because of the request is recorded too.
 * @param read returns the event of the request; an error rejects the delivery
 * @throws Problem as `decide` and `acceptDeployment`, and `invalid_webhook_token` when the proof is no longer valid; a dry
 * run records the Problem instead
 */
export type HandleDelivery = (incoming: IncomingDelivery, read: () => WebhookEvent) => Promise<DeliveryOutcome>;

export interface DeliveryHandlerOptions {
  pool: Pool;
  notifier: Pick<AcceptanceNotifier, 'add'>;
  /** Returns where builds push images; undefined when the installation builds nothing. */
  readBuilds: () => Promise<BuildRegistry | undefined>;
}

/** Deliveries that arrive while others are being accepted share a statement and its commit (decision 0034). */
export function createDeliveryHandler({ pool, notifier, readBuilds }: DeliveryHandlerOptions): HandleDelivery {
  const acceptInBatch = createBatches({
    run: (requests: readonly DeliveredRequest[]) => acceptDeliveries(pool, requests),
  });
  const ignore = async (log: LoggedDelivery, reason: string, status = 200): Promise<DeliveryOutcome> => {
    const delivery = await insertDelivery(pool, { ...log, verdict: 'ignored', status, reason });
    return { verdict: 'ignored', reason, delivery };
  };

  return async (incoming, read) => {
    let log: LoggedDelivery = logEntryOf(incoming);
    try {
      const event = read();
      // A test has nothing to redeliver.
      if (!incoming.dryRun) log = { ...log, webhookEvent: event };
      const decision = decide(event, { ...targetOf(incoming), builds: await readBuilds() });
      if (incoming.dryRun) return await ignore(log, ...dryRunOutcome(decision));
      if (decision.verdict === 'ignore') return await ignore(log, decision.reason);
      const request = requestOf(incoming, log, decision);
      // Outside the batch when the app's row is locked or a request of the batch is rejected.
      const accepted = (await acceptInBatch(request)) ?? (await acceptDelivery(pool, request));
      const { superseded, delivery, verdict, ...deployment } = accepted;
      if (verdict === 'accepted') notifier.add(superseded);
      return { delivery, verdict, deployment, reason: request.delivery.reason };
    } catch (error) {
      if (!(error instanceof Problem) || error.code === 'invalid_webhook_token') throw error;
      const { status, code, message: reason } = error;
      const delivery = await insertDelivery(pool, { ...log, verdict: 'refused', status, code, reason });
      if (incoming.dryRun) return { verdict: 'ignored', reason, delivery };
      throw error;
    }
  };
}

type LoggedDelivery = Omit<NewDelivery, 'verdict' | 'status'>;

/** The row of the delivery log, without an outcome. */
function logEntryOf({ receiver, ...incoming }: IncomingDelivery): LoggedDelivery {
  const { sender, event, deliveryId, redeliveryOf, actor, body, bodyBytes } = incoming;
  return { workloadId: receiver.workloadId, sender, event, deliveryId, redeliveryOf, actor, body, bodyBytes };
}

function targetOf({ app, namespace, receiver }: IncomingDelivery): Target {
  const { project, image, gitBranch, webhook } = receiver;
  const { branch, tags } = webhook;
  return { app, project, namespace, image, gitBranch: gitBranch ?? undefined, branch, tags };
}

function requestOf(
  { receiver, proof, actor, identity }: IncomingDelivery,
  log: LoggedDelivery,
  decision: Exclude<Decision, { verdict: 'ignore' }>,
): DeliveredRequest {
  const { verdict, ...details } = decision;
  const reason = decision.verdict === 'skip' ? decision.reason : undefined;
  const common = { workloadId: receiver.workloadId, trigger: 'webhook', actor, proof } as const;
  return {
    delivery: { ...log, reason },
    deployment: { ...common, dedupKey: dedupKey(identity), ...details, skipped: verdict === 'skip' },
  };
}

/** A delivery's identity as a key of limited length. */
function dedupKey(identity: string | undefined): string | undefined {
  if (identity === undefined) return undefined;
  return `delivery:${identity.length <= 100 ? identity : hash('sha256', identity)}`;
}

/** The reason and the HTTP status in the log of a dry run. */
function dryRunOutcome(decision: Decision): [reason: string, status: number] {
  if (decision.verdict === 'ignore') return [decision.reason, 200];
  if (decision.verdict === 'skip') return [`Test: this would be skipped. ${decision.reason}`, 200];
  return [`Test: this would deploy ${decision.image ?? `the commit ${decision.commit}`}.`, 202];
}
