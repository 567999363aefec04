/** The states of a deployment: the active ones in order, then the final ones. */
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

/** What created a deployment. */
export const deploymentTriggers = ['webhook', 'manual', 'restart', 'promotion', 'rollback', 'git'] as const;

export type DeploymentTrigger = (typeof deploymentTriggers)[number];

/** The states that are not final. */
const activeStates: readonly DeploymentState[] = ['accepted', 'building', 'rolling_out'];

/** Whether a deployment in this state has ended. */
export function hasEnded(state: DeploymentState): boolean {
  return !activeStates.includes(state);
}
