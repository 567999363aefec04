import type { Condition } from '../kubernetes.ts';

/**
 * The condition of a workload whose container was killed for using too much memory. Its time is that of the last kill; its
 * message names the limit and suggests a higher one.
 */
export const outOfMemoryCondition = 'OutOfMemory';

/** The last time a container was killed for using too much memory, from the workload's status. */
export function lastOutOfMemory(
  status: { conditions?: Condition[] } | undefined,
): { at: string; message: string } | undefined {
  const condition = status?.conditions?.find(({ type }) => type === outOfMemoryCondition);
  return condition?.status === 'True' ? { at: condition.lastTransitionTime, message: condition.message } : undefined;
}
