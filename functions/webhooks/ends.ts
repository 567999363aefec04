import type { Pool } from 'pg';
import { hasEnded } from '../../runtime/domain/deployment.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { createToldWaits, type ToldWaits } from '../../runtime/host/told-waits.ts';
import { getDeployment, type Deployment } from '../../runtime/records/deployments.ts';

/** A notification that is lost is made up for after so long. */
const lookEveryMs = 15_000;

/** Where PostgreSQL tells of ended deployments; a trigger does, whichever process wrote the end. */
export const deploymentEndsChannel = 'deployment_ends';

/** Waits for ends of deployments; told by a listener on {@link deploymentEndsChannel}. */
export interface DeploymentEnds extends Pick<ToldWaits, 'notified' | 'stop'> {
  /**
   * The deployment as it is when it has ended, `ms` are over, `signal` is aborted or this stops: whichever comes first.
   * Undefined when there is none.
   */
  wait(id: Id, ms: number, signal: AbortSignal): Promise<Deployment | undefined>;
}

export function createDeploymentEnds({ pool, clock }: { pool: Pool; clock: Clock }): DeploymentEnds {
  const waits = createToldWaits({ clock });
  return {
    ...waits,
    wait: (id, ms, signal) =>
      waits.until(id, { ms, everyMs: lookEveryMs, signal }, async () => {
        const found = await getDeployment(pool, id);
        return { found, over: !found || hasEnded(found.state) };
      }),
  };
}
