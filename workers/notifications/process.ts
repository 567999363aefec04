import type { LookupFunction } from 'node:net';
import type { Pool } from 'pg';
import { createOwnerShares } from '../../runtime/bus/owner-shares.ts';
import { backoff, type Attempt, type Outcome, type Processor } from '../../runtime/bus/runner.ts';
import { createAddressMatcher } from '../../runtime/domain/address.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { notificationSecretContext } from '../../runtime/domain/notification.ts';
import { unseal, type KeyRing } from '../../runtime/domain/sealed.ts';
import { webhookHeaders } from '../../runtime/domain/standard-webhooks.ts';
import { lookupOf, type NameLookup } from '../../runtime/process/name-lookup.ts';
import { send, type SendResult } from '../../runtime/process/outgoing-request.ts';
import { readPlatformConfig } from '../../runtime/workloads/platform-config.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { catalogue } from '../../runtime/queues/catalogue.ts';
import { findEpisode } from '../../runtime/records/alert-episodes.ts';
import { getDeployment } from '../../runtime/records/deployments.ts';
import { payloadOf } from './payload.ts';
import { endDelivery, findDelivery, recordAttempt, type Delivery } from './store.ts';

export interface NotificationDependencies {
  pool: Pool;
  /** Reads the installation's settings. */
  kube: Pick<KubeClient, 'get'>;
  keyRing: KeyRing;
  clock: Clock;
  /** Called with the name of each step, at which tests kill the process. */
  failpoint: (name: string) => void;
  /** Default 15 s, the minimum that Standard Webhooks recommends. */
  timeoutMs?: number;
  /** Resolves the names of receivers; default: the system's resolver. */
  names?: NameLookup | undefined;
  /** For tests: resolves them instead. */
  lookup?: LookupFunction;
}

const blocked =
  'is in a private network to which notifications may not be sent. A platform admin can allow it: svc platform config set --notification-network';
/** Maximum of a receiver's Retry-After. */
const retryAfterMaxSeconds = 3_600;
const { attempts: attemptsMax } = catalogue.notifications;
/**
 * What a project, or the platform with its alerts, uses of the queue: a quarter (decision 0082). The wait for a place and
 * the request together take less than the time-out of an attempt.
 */
const share = { perOwner: catalogue.notifications.places / 4, waitMs: 8_000, soonMs: 1_000, spacingMs: 50 };

/**
 * Sends one notification according to Standard Webhooks 1.0.0: signed, with the same id at every attempt. Delivery is at
 * least once, because a process that dies between sending and recording sends again. A response of 2xx ends the delivery,
 * 410 also disables the target, and everything else is retried, 14 times over about half a day.
 */
export function createNotificationProcessor(dependencies: NotificationDependencies): Processor {
  const { pool, kube, keyRing, clock, failpoint, timeoutMs = 15_000, names } = dependencies;
  const shares = createOwnerShares(clock, catalogue.notifications, share);

  const attempt = async ({ signal, log }: Attempt, delivery: Delivery): Promise<Outcome> => {
    const settings = await readPlatformConfig(kube);
    const deployment = delivery.deploymentId === null ? undefined : await getDeployment(pool, delivery.deploymentId);
    const episode = delivery.alertId === null ? undefined : await findEpisode(pool, delivery.alertId);
    const body = payloadOf(delivery, { deployment, episode }, settings);
    const secret = secretOf(keyRing, delivery);
    const timestamp = Math.floor(clock.now().getTime() / 1000);
    const started = clock.monotonic();
    const lookup = dependencies.lookup ?? (names && lookupOf(names, delivery.project));
    const result =
      secret === undefined
        ? { fault: 'its signing secret cannot be opened. Make a new one: svc notification rotate' }
        : await send({
            url: delivery.url,
            headers: {
              ...webhookHeaders(secret, { id: webhookId(delivery), timestamp, body }),
              'content-type': 'application/json',
              'user-agent': 'svc-notifications/1',
            },
            body,
            timeoutMs,
            signal,
            allowed: createAddressMatcher(settings.notificationNetworks ?? []),
            blocked,
            caCertificates: settings.caCertificates,
            ...(lookup && { lookup }),
          });
    failpoint('notification.sent');
    const durationMs = Math.round(clock.monotonic() - started);
    const verdict = evaluate(result);
    const number = delivery.attempts + 1;
    const isFinal = verdict.disabledReason !== undefined || number >= attemptsMax;
    const state = verdict.error === undefined ? 'delivered' : isFinal ? 'failed' : 'pending';
    const status = 'status' in result ? result.status : undefined;
    await recordAttempt(
      pool,
      delivery,
      { durationMs, status, error: verdict.error },
      { state, disabledReason: verdict.disabledReason },
    );
    const { project, targetName: notification, type } = delivery;
    const fields = { project, notification, type, delivery: delivery.id, number, status, error: verdict.error };
    log.info({ ...fields, state }, 'notification sent');
    if (state !== 'pending') return 'done';
    const retryAfterMs =
      Math.min('status' in result ? (result.retryAfterSeconds ?? 0) : 0, retryAfterMaxSeconds) * 1000;
    const wait = Math.max(backoff(catalogue.notifications, number), retryAfterMs);
    return { again: new Date(clock.now().getTime() + wait) };
  };

  return async (work) => {
    const delivery = await findDelivery(pool, work.recordId);
    if (!delivery || delivery.state !== 'pending') return 'done';
    try {
      if (delivery.enabled) return await shares.run(delivery.project, work, () => attempt(work, delivery));
    } catch (error) {
      if (!work.last) throw error;
      work.log.error({ err: error, delivery: delivery.id }, 'notification failed after all retries');
    }
    await endDelivery(pool, delivery.id, 'failed');
    return 'done';
  };
}

/** The header `webhook-id` of a delivery. */
function webhookId({ id }: Pick<Delivery, 'id'>): string {
  return `msg_${id}`;
}

/** @returns why the attempt failed, and with `disabledReason` why the target is disabled */
function evaluate(result: SendResult): { error?: string; disabledReason?: string } {
  if ('fault' in result) return { error: result.fault };
  const { status } = result;
  if (status >= 200 && status < 300) return {};
  if (status === 410) {
    const reason = 'The receiver responded with 410: it no longer accepts notifications.';
    return { error: reason, disabledReason: reason };
  }
  if (status >= 300 && status < 400) return { error: `it responded with ${status}; redirects are not followed` };
  return { error: `it responded with ${status}` };
}

/** The secret of a delivery's target; undefined when the key that it is sealed with was removed from the ring. */
function secretOf(keyRing: KeyRing, { targetId, secret }: Delivery): string | undefined {
  try {
    return unseal(keyRing, notificationSecretContext(targetId), secret);
  } catch {
    return undefined;
  }
}
