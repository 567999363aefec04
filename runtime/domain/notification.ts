/** The types of notifications: the ends of a deployment. */
export const notificationEvents = [
  'deployment.succeeded',
  'deployment.failed',
  'deployment.superseded',
  'deployment.cancelled',
] as const;

/** The types of notifications of the platform: the beginning and the end of an alert. */
export const alertEvents = ['alert.firing', 'alert.resolved'] as const;

/** The `project_id` of the targets of the platform, which belong to no project. */
export const platformTargets = '00000000-0000-7000-8000-000000000002';

export type NotificationEvent = (typeof notificationEvents)[number];

/** The type of a test message. */
export const testEvent = 'notification.test';

/** The states of a delivery. `failed`: it is only retried on request. */
export const deliveryStates = ['pending', 'delivered', 'failed'] as const;

export type DeliveryState = (typeof deliveryStates)[number];

/** The purpose that a target's sealed secret is bound to. */
export function notificationSecretContext(targetId: string): { id: string; purpose: string } {
  return { id: targetId, purpose: 'notification-secret' };
}
