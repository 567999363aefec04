import type { z } from 'zod';
import type { webhookDeployment } from '../../runtime/contracts/api/webhooks.ts';
import type { DeploymentState } from '../../runtime/domain/deployment.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import type { RouteReply } from '../../runtime/http/route.ts';

interface ReplyDeployment {
  id: Id;
  revision: number | null;
  state: DeploymentState;
  reason?: string | null | undefined;
}

/** The HTTP status of a deployment that did not succeed, for a sender that waited (RFC 9110 and, for 424, RFC 4918). */
const failureStatus: Partial<Record<DeploymentState, number>> = { superseded: 409, cancelled: 409, failed: 424 };

/**
 * 202 with the status URL, or 200 for a skipped deployment. For a sender that waited: 200 for a success, 409 for a deployment
 * that was superseded or cancelled, 424 for a failure, and 202 for one that is still in progress.
 */
export function deploymentReply(
  { id, revision, state, reason }: ReplyDeployment,
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
  const status = waited ? failureStatus[state] : undefined;
  if (status !== undefined) {
    const message = `The deployment ${state === 'failed' ? 'failed' : `was ${state}`}. ${reason ?? ''}`.trim();
    return { status, headers, body: { ...body, code: `deployment_${state}`, message } };
  }
  return { status: waited && state === 'succeeded' ? 200 : 202, headers, body };
}
