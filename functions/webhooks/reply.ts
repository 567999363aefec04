import type { z } from 'zod';
import type { webhookDeployment } from '../../runtime/contracts/api/webhooks.ts';
import type { DeploymentState } from '../../runtime/domain/deployment.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import type { RouteReply } from '../../runtime/host/route.ts';

/** A deployment as a webhook's answer tells of it. */
export interface Told {
  id: Id;
  revision: number | null;
  state: DeploymentState;
  reason?: string | null | undefined;
}

/** Ends that are no success: their status for who waited for them (RFC 9110 and, for 424, RFC 4918). */
const endedBadly: Partial<Record<DeploymentState, number>> = { superseded: 409, cancelled: 409, failed: 424 };

/**
 * 202 with where the status is. Who waited (`waited`) gets 200 for a success, 409 for one that a newer deployment or a
 * person ended, 424 for a failure, and 202 for what goes on. What was skipped is 200.
 */
export function deploymentReply(
  { id, revision, state, reason }: Told,
  { statusUrl, waited }: { statusUrl: string; waited: boolean },
): RouteReply {
  const body: z.infer<typeof webhookDeployment> = {
    id,
    ...(revision !== null && { revision }),
    status: state,
    statusUrl,
    ...(reason !== undefined && reason !== null && { reason }),
  };
  const headers = { Location: statusUrl };
  if (state === 'skipped') return { status: 200, headers, body };
  const bad = waited ? endedBadly[state] : undefined;
  if (bad !== undefined) {
    const message = `The deployment ${state === 'failed' ? 'failed' : `was ${state}`}. ${reason ?? ''}`.trim();
    return { status: bad, headers, body: { ...body, code: `deployment_${state}`, message } };
  }
  return { status: waited && state === 'succeeded' ? 200 : 202, headers, body };
}
