import { existsSync, writeFileSync } from 'node:fs';
import { appLabel, buildNamespace, systemNamespace } from '../../../runtime/domain/labels.ts';
import type { NodePod } from './pod-spec.ts';

/** Of builds. */
const buildNiceness = 5;
/**
 * Of the platform's processes that no request to an app or function waits for. Those who call console-api wait for its
 * answer; rollouts wait for svc-controllers, and nobody for svc-workers alone.
 */
const processNiceness: ReadonlyMap<string | undefined, number> = new Map([
  ['console-api', 3],
  ['svc-controllers', 5],
  ['svc-workers', 10],
]);

/**
 * How far a pod stands back for others when the processors are busy: 0, or more for builds and for what strangers'
 * webhooks, uploads and servers keep busy. https://man7.org/linux/man-pages/man7/sched.7.html
 */
export function nicenessOf({ metadata: { namespace, labels = {} } }: Pick<NodePod, 'metadata'>): number {
  if (namespace === buildNamespace) return buildNiceness;
  return namespace === systemNamespace ? (processNiceness.get(labels[appLabel]) ?? 0) : 0;
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
