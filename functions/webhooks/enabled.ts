import { Problem } from '../../runtime/domain/problem.ts';
import type { Webhook } from '../../runtime/records/webhooks.ts';

/** @throws Problem `conflict` unless the app's webhook is enabled */
export function checkEnabled(webhook: Webhook | undefined, app: string): asserts webhook is Webhook {
  if (webhook?.enabled) return;
  throw new Problem('conflict', `The webhook is not enabled. Enable it with \`svc app webhook enable ${app}\`.`);
}
