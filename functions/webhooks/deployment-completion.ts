import type { Pool } from 'pg';
import type { Clock } from '../../runtime/domain/clock.ts';
import { hasEnded } from '../../runtime/domain/deployment.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { createNotifyWaiter, type NotifyWaiter } from '../../runtime/db/notify-waiter.ts';
import { getDeployment, type Deployment } from '../../runtime/records/deployments.ts';

/** Interval of reads that compensate for a lost NOTIFY, in ms. */
const pollMs = 15_000;

/** The channel on which a trigger in PostgreSQL sends NOTIFY with the id of each deployment that ends. */
export const deploymentEndsChannel = 'deployment_ends';

/** Waits for deployments to end; a listener on {@link deploymentEndsChannel} calls `notified`. */
export interface DeploymentWaiter extends Pick<NotifyWaiter, 'notified' | 'stop'> {
  /**
   * Resolves to the deployment when it has ended, after `ms`, when `signal` is aborted or when the waiter stops, whichever
   * is first. Undefined for an unknown deployment.
   */
  wait(id: Id, ms: number, signal: AbortSignal): Promise<Deployment | undefined>;
}

/** Creates a waiter that reads deployments again after a NOTIFY, and every {@link pollMs}. */
export function createDeploymentWaiter({ pool, clock }: { pool: Pool; clock: Clock }): DeploymentWaiter {
  const waiter = createNotifyWaiter({ clock });
  return {
    ...waiter,
    wait: (id, ms, signal) =>
      waiter.waitFor(id, { ms, everyMs: pollMs, signal }, async () => {
        const deployment = await getDeployment(pool, id);
        return { value: deployment, done: !deployment || hasEnded(deployment.state) };
      }),
  };
}
