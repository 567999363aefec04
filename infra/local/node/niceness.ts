import { existsSync, writeFileSync } from 'node:fs';
import { appLabel, buildNamespace, systemNamespace } from '../../../runtime/domain/labels.ts';
import type { NodePod } from './pod-spec.ts';

const behind = 5;
/** The platform's processes that no request to an app or function waits for. */
const notServing: readonly (string | undefined)[] = ['console-api', 'svc-workers'];

/**
 * How far a pod stands back for others when the processors are busy: 0, or 5 for builds and for what strangers' webhooks,
 * uploads and servers keep busy. https://man7.org/linux/man-pages/man7/sched.7.html
 */
export function nicenessOf({ metadata: { namespace, labels = {} } }: Pick<NodePod, 'metadata'>): number {
  if (namespace === buildNamespace) return behind;
  return namespace === systemNamespace && notServing.includes(labels[appLabel]) ? behind : 0;
}

/**
 * Gives a session its niceness, where Linux first shares the processors among sessions, whatever the niceness of their
 * processes.
 */
export function setSessionNiceness(leader: number, niceness: number): void {
  const session = `/proc/${leader}/autogroup`;
  try {
    if (existsSync(session)) writeFileSync(session, String(niceness));
  } catch {
    // It has ended already.
  }
}
