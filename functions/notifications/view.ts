import type { z } from 'zod';
import type { deliveryAttempt, DeliveryView, NotificationView } from '../../runtime/contracts/api/notifications.ts';
import type { AttemptRow, DeliveryRow } from './deliveries.ts';
import type { Target } from './store.ts';

/** A target as the API shows it: without its secret. */
export function targetToView(target: Target): NotificationView {
  const { id, name, url, events, apps, environments, enabled, disabledReason } = target;
  return {
    id,
    name,
    url,
    events,
    ...(apps && { apps }),
    ...(environments && { environments }),
    enabled,
    ...(disabledReason !== null && { disabledReason }),
    createdAt: target.createdAt.toISOString(),
    updatedAt: target.updatedAt.toISOString(),
  };
}

export function attemptToView({ at, durationMs, status, error }: AttemptRow): z.infer<typeof deliveryAttempt> {
  return { at: at.toISOString(), durationMs, ...(status !== null && { status }), ...(error !== null && { error }) };
}

export function deliveryToView(row: DeliveryRow): DeliveryView {
  const { id, type, state, deploymentId, app, environment, revision, createdAt, endedAt, attempts, nextAt } = row;
  const { lastAt, lastDurationMs, lastStatus, lastError } = row;
  const last = lastAt && { at: lastAt, durationMs: lastDurationMs ?? 0, status: lastStatus, error: lastError };
  return {
    id,
    webhookId: `msg_${id}`,
    type,
    status: state,
    ...(deploymentId !== null && { deploymentId }),
    ...(app !== null && { app }),
    ...(environment !== null && { environment }),
    ...(revision !== null && { revision }),
    createdAt: createdAt.toISOString(),
    ...(endedAt && { endedAt: endedAt.toISOString() }),
    attempts,
    ...(last && { lastAttempt: attemptToView(last) }),
    ...(nextAt && { nextAttemptAt: nextAt.toISOString() }),
  };
}
