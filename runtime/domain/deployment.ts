/** The states of a deployment: three active ones in their order, then the ends. */
export const deploymentStates = [
  'accepted',
  'building',
  'rolling_out',
  'succeeded',
  'failed',
  'superseded',
  'cancelled',
  'skipped',
] as const;

export type DeploymentState = (typeof deploymentStates)[number];

/** What made a deployment (spec.md §2.4). */
export const deploymentTriggers = ['webhook', 'manual', 'promotion', 'rollback', 'git'] as const;

export type DeploymentTrigger = (typeof deploymentTriggers)[number];

/** States from which a deployment can still move. */
export const activeStates: readonly DeploymentState[] = ['accepted', 'building', 'rolling_out'];

/** Whether a deployment in this state has come to its end. */
export function hasEnded(state: DeploymentState): boolean {
  return !activeStates.includes(state);
}
