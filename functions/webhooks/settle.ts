import { hash } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { transaction } from '../../runtime/db/pool.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { workloadIdOf } from '../../runtime/host/workload-objects.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { acceptDeployment, skipDeployment, type Acceptance } from '../../runtime/records/deployments.ts';
import { insertDelivery, type NewDelivery } from '../../runtime/records/webhook-deliveries.ts';
import { webhookGuard, type Webhook, type WebhookProof } from '../../runtime/records/webhooks.ts';
import { decide, type Decision, type Target } from './decide.ts';
import type { Notice } from './notice.ts';

export interface SettleDependencies {
  kube: Pick<KubeClient, 'get'>;
  pool: Pool;
}

/** What came in, whoever sent it. */
export interface Incoming {
  namespace: string;
  app: string;
  workloadId: Id;
  webhook: Pick<Webhook, 'branch' | 'tags'>;
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

/** What the app takes right now. @throws Problem `not_found` when it is going */
export async function targetOf(kube: Pick<KubeClient, 'get'>, incoming: Incoming): Promise<Target> {
  const { namespace, app: name, workloadId, webhook } = incoming;
  const app = await kube.get<App>(kinds.App, name, namespace);
  if (!app || workloadIdOf(app) !== workloadId) throw new Problem('not_found', 'The app was deleted.');
  const { release, image, git } = app.spec;
  return { app: name, image: release?.image ?? image, gitBranch: git?.branch, ...filters(webhook) };
}

function filters({ branch, tags }: Pick<Webhook, 'branch' | 'tags'>) {
  return { branch, tags };
}

/** The row of the delivery log that says what came in. */
export function deliveryOf(incoming: Incoming): Omit<NewDelivery, 'verdict' | 'status'> {
  const { workloadId, sender, event, deliveryId, redeliveryOf, actor, body, bodyBytes } = incoming;
  return { workloadId, sender, event, deliveryId, redeliveryOf, actor, body, bodyBytes };
}

/**
 * Does what a notice asks for, and records the delivery: in one transaction. A refusal that is the request's own fault is
 * recorded, too.
 * @throws Problem as `decide` and `acceptDeployment` do, and `invalid_webhook_token` when the proof counts no more
 */
export async function settle(
  { kube, pool }: SettleDependencies,
  incoming: Incoming,
  read: () => Notice,
): Promise<Settled> {
  let notice: Notice | undefined;
  try {
    const understood = read();
    notice = understood;
    const decision = decide(understood, await targetOf(kube, incoming));
    return await transaction(pool, (client) => carryOut(client, incoming, understood, decision));
  } catch (error) {
    if (error instanceof Problem && error.status < 500 && error.code !== 'invalid_webhook_token') {
      await insertDelivery(pool, {
        ...deliveryOf(incoming),
        ...{ notice, verdict: 'refused', status: error.status, code: error.code, reason: error.message },
      });
    }
    throw error;
  }
}

async function carryOut(client: PoolClient, incoming: Incoming, notice: Notice, decision: Decision): Promise<Settled> {
  const record = (rest: Pick<NewDelivery, 'verdict' | 'status' | 'reason' | 'deploymentId'>) =>
    insertDelivery(client, { ...deliveryOf(incoming), notice, ...rest });
  const { workloadId, proof, actor } = incoming;
  const guard = proof && webhookGuard(proof);
  if (decision.verdict === 'ignore') {
    await guard?.(client, workloadId);
    const { reason } = decision;
    return { verdict: 'ignored', reason, delivery: await record({ verdict: 'ignored', status: 200, reason }) };
  }
  const common = { workloadId, trigger: 'webhook', actor, guard, dedupKey: dedupKey(incoming.deliveryId) } as const;
  const { verdict: _verdict, ...what } = decision;
  const deployment =
    decision.verdict === 'skip'
      ? await skipDeployment(client, { ...common, ...what, reason: decision.reason })
      : await acceptDeployment(client, { ...common, ...what });
  const skipped = deployment.state === 'skipped';
  const verdict = !deployment.created ? 'duplicate' : skipped ? 'skipped' : 'accepted';
  const reason = decision.verdict === 'skip' ? decision.reason : undefined;
  const status = skipped ? 200 : 202;
  const delivery = await record({ verdict, status, reason, deploymentId: deployment.id });
  return { verdict, deployment, reason, delivery };
}
