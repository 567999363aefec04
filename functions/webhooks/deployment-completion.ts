import type { Pool } from 'pg';
import type { Clock } from '../../runtime/domain/clock.ts';
import { hasEnded } from '../../runtime/domain/deployment.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { createNotifyWaiter, type NotifyWaiter } from '../../runtime/db/notify-waiter.ts';
import { getDeployment, type Deployment } from '../../runtime/records/deployments.ts';

/** Interval of reads that compensate for a lost NOTIFY, in ms. */
const pollMs = 15_000;

/** Maximum requests that wait for one app's deployments, and for those of all apps, in this process. */
const waitingMax = { app: 20, all: 200 };

/** The channel on which a trigger in PostgreSQL sends NOTIFY with the id of each deployment that ends. */
export const deploymentEndsChannel = 'deployment_ends';

/** Waits for deployments to end; a listener on {@link deploymentEndsChannel} calls `notified`. */
export interface DeploymentWaiter extends Pick<NotifyWaiter, 'notified' | 'stop'> {
  /**
   * Resolves to the deployment when it has ended, after `ms`, when `signal` is aborted or when the waiter stops, whichever
   * is first; at once while 20 requests wait for the app's deployments or 200 for those of all apps. Undefined for an
   * unknown deployment.
   */
  wait(id: Id, options: { workloadId: Id; ms: number; signal: AbortSignal }): Promise<Deployment | undefined>;
}

/** Creates a waiter that reads deployments again after a NOTIFY, and every {@link pollMs}. */
export function createDeploymentWaiter({ pool, clock }: { pool: Pool; clock: Clock }): DeploymentWaiter {
  const waiter = createNotifyWaiter({ clock });
  const waitingByApp = new Map<Id, number>();
  let waiting = 0;
  const count = (workloadId: Id, change: number) => {
    waiting += change;
    const next = (waitingByApp.get(workloadId) ?? 0) + change;
    if (next > 0) waitingByApp.set(workloadId, next);
    else waitingByApp.delete(workloadId);
  };
  return {
    ...waiter,
    async wait(id, { workloadId, ms, signal }) {
      const full = waiting >= waitingMax.all || (waitingByApp.get(workloadId) ?? 0) >= waitingMax.app;
      count(workloadId, 1);
      try {
        return await waiter.waitFor(id, { ms: full ? 0 : ms, everyMs: pollMs, signal }, async () => {
          const deployment = await getDeployment(pool, id);
          return { value: deployment, done: !deployment || hasEnded(deployment.state) };
        });
      } finally {
        count(workloadId, -1);
      }
    },
  };
}
