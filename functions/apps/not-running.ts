import type { Pool } from 'pg';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { workloadIdOf } from '../../runtime/host/workload-objects.ts';
import { listDeployments } from '../../runtime/records/deployments.ts';

/** So many that were skipped may be newer. */
const skippedMax = 20;

/**
 * Why nothing of an app runs yet, where its last deployment ended badly before there was anything to roll out: its build
 * failed, or somebody cancelled it. The object knows nothing of that. Undefined for every other app.
 */
export async function whyNotRunning(pool: Pool, app: Stored<App>): Promise<string | undefined> {
  if (app.spec.release || app.status?.message !== undefined) return undefined;
  const newest = await listDeployments(pool, workloadIdOf(app), { limit: skippedMax });
  const last = newest.find(({ state }) => state !== 'skipped');
  if (last?.state !== 'failed' && last?.state !== 'cancelled') return undefined;
  // What follows the first line is the end of a log, which its history shows.
  const why = last.reason === null ? '' : `: ${last.reason.split('\n', 1)[0]}`;
  return `Nothing runs yet, since revision ${last.revision} ${last.state === 'failed' ? 'failed' : 'was cancelled'}${why}`;
}
