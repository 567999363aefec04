import type { LookupFunction } from 'node:net';
import type { Pool } from 'pg';
import { backoff, type Attempt, type Outcome, type Processor } from '../../runtime/bus/runner.ts';
import { createAddressMatcher } from '../../runtime/domain/address.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { notificationSecretContext } from '../../runtime/domain/notification.ts';
import { unseal, type KeyRing } from '../../runtime/domain/sealed.ts';
import { webhookHeaders } from '../../runtime/domain/standard-webhooks.ts';
import { readPlatformConfig } from '../../runtime/host/platform-config.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { catalogue } from '../../runtime/queues/catalogue.ts';
import { getDeployment } from '../../runtime/records/deployments.ts';
import { payloadOf } from './payload.ts';
import { send, type SendResult } from './send.ts';
import { endDelivery, findDelivery, recordAttempt, type Delivery } from './store.ts';

export interface NotificationDependencies {
  pool: Pool;
  /** For the settings: which private networks are open. */
  kube: Pick<KubeClient, 'get'>;
  keyRing: KeyRing;
  clock: Clock;
  /** Called by name at each step, where a test may kill the process. */
  failpoint: (name: string) => void;
  /** Default 15 s, what Standard Webhooks recommends at least. */
  timeoutMs?: number;
  /** Default: the system's resolver. */
  lookup?: LookupFunction;
}

/** What a receiver may make the next attempt wait for, whatever it asks for. */
const retryAfterMaxSeconds = 3_600;
const { attempts: attemptsMax } = catalogue.notifications;

/**
 * Sends one notification as Standard Webhooks 1.0.0 wants it: signed, with an id that stays the same however often it is
 * sent. At least once: a process that dies between sending and recording sends again. Any answer of 2xx ends it; 410
 * disables the target; everything else is tried again, 14 times over about half a day.
 */
export function createNotificationProcessor(dependencies: NotificationDependencies): Processor {
  const { pool, kube, keyRing, clock, failpoint, timeoutMs = 15_000, lookup } = dependencies;

  const attempt = async ({ signal, log }: Attempt, delivery: Delivery): Promise<Outcome> => {
    const settings = await readPlatformConfig(kube);
    const deployment = delivery.deploymentId === null ? undefined : await getDeployment(pool, delivery.deploymentId);
    const body = payloadOf(delivery, deployment, settings);
    const secret = unseal(keyRing, notificationSecretContext(delivery.targetId), delivery.secret);
    const timestamp = Math.floor(clock.now().getTime() / 1000);
    const headers = {
      ...webhookHeaders(secret, { id: webhookId(delivery), timestamp, body }),
      'content-type': 'application/json',
      'user-agent': 'svc-notifications/1',
    };
    const started = clock.monotonic();
    const result = await send({
      ...{ url: delivery.url, headers, body, timeoutMs, signal },
      allowed: createAddressMatcher(settings.notificationNetworks ?? []),
      ...(lookup && { lookup }),
    });
    failpoint('notification.sent');
    const durationMs = Math.round(clock.monotonic() - started);
    const verdict = judge(result);
    const number = delivery.attempts + 1;
    const over = verdict.gone !== undefined || number >= attemptsMax;
    const state = verdict.error === undefined ? 'delivered' : over ? 'failed' : 'pending';
    const status = 'status' in result ? result.status : undefined;
    await recordAttempt(pool, delivery, { durationMs, status, error: verdict.error }, { state, gone: verdict.gone });
    const { project, targetName: notification, type } = delivery;
    const about = { project, notification, type, delivery: delivery.id, number, status, error: verdict.error };
    log.info({ ...about, state }, 'notification sent');
    if (state !== 'pending') return 'done';
    const wanted = Math.min('status' in result ? (result.retryAfterSeconds ?? 0) : 0, retryAfterMaxSeconds) * 1000;
    const wait = Math.max(backoff(catalogue.notifications, number), wanted);
    return { again: new Date(clock.now().getTime() + wait) };
  };

  return async (given) => {
    const delivery = await findDelivery(pool, given.recordId);
    if (!delivery || delivery.state !== 'pending') return 'done';
    try {
      if (delivery.enabled) return await attempt(given, delivery);
    } catch (error) {
      if (!given.last) throw error;
      given.log.error({ err: error, delivery: delivery.id }, 'notification given up');
    }
    await endDelivery(pool, delivery.id, 'failed');
    return 'done';
  };
}

/** The header `webhook-id` of a delivery. */
function webhookId({ id }: Pick<Delivery, 'id'>): string {
  return `msg_${id}`;
}

/** Why an answer is no success, and why the target is to be disabled. */
function judge(result: SendResult): { error?: string; gone?: string } {
  if ('fault' in result) return { error: result.fault };
  const { status } = result;
  if (status >= 200 && status < 300) return {};
  if (status === 410) {
    const gone = 'The receiver answered 410: it wants no more of these.';
    return { error: gone, gone };
  }
  if (status >= 300 && status < 400) return { error: `it answered ${status}; redirects are not followed` };
  return { error: `it answered ${status}` };
}
