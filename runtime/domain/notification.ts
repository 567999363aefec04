/** What a project can be told of: every end of a deployment (spec.md §2.4). */
export const notificationEvents = [
  'deployment.succeeded',
  'deployment.failed',
  'deployment.superseded',
  'deployment.cancelled',
] as const;

export type NotificationEvent = (typeof notificationEvents)[number];

/** The type of a message that only shows that a target can be reached. */
export const testEvent = 'notification.test';

/** States of a delivery: `failed` is one that is not tried any more, unless somebody asks for it. */
export const deliveryStates = ['pending', 'delivered', 'failed'] as const;

export type DeliveryState = (typeof deliveryStates)[number];

/** What the key ring binds a target's secret to. */
export function notificationSecretContext(targetId: string): { id: string; purpose: string } {
  return { id: targetId, purpose: 'notification-secret' };
}
