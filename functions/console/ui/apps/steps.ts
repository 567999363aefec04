import type { DeploymentView } from '../../../../runtime/contracts/api/apps.ts';
import { hasEnded, type DeploymentState } from '../../../../runtime/domain/deployment.ts';

/** A step of a deployment; without a time, it is the one in progress. */
export interface Step {
  state: DeploymentState | 'started';
  at?: string;
}

/** What a deployment went through so far, in order: how long it waited, when it started, and how it ended. */
export function stepsOf({ status, acceptedAt, startedAt, endedAt }: DeploymentView): Step[] {
  return [
    { state: 'accepted', at: acceptedAt },
    ...(startedAt === undefined ? [] : [{ state: 'started' as const, at: startedAt }]),
    // The one that waits is shown as such by its first step.
    ...(hasEnded(status) || status === 'accepted' ? [] : [{ state: status }]),
    ...(endedAt === undefined ? [] : [{ state: status, at: endedAt }]),
  ];
}
