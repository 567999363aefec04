import type { Condition } from '../kubernetes.ts';

/**
 * The condition of a workload that lost a container to a lack of memory: its time is that of the last kill, and its
 * message names the limit and the next one to try.
 */
export const outOfMemoryCondition = 'OutOfMemory';

/** The last kill for memory of which a workload's status tells. */
export function lastOutOfMemory(
  status: { conditions?: Condition[] } | undefined,
): { at: string; message: string } | undefined {
  const condition = status?.conditions?.find(({ type }) => type === outOfMemoryCondition);
  return condition?.status === 'True' ? { at: condition.lastTransitionTime, message: condition.message } : undefined;
}
