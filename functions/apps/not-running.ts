import type { Pool } from 'pg';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { listDeployments } from '../../runtime/records/deployments.ts';
import { workloadIdOf } from '../../runtime/workloads/objects.ts';

/** Newest deployments to search for the last one that was not skipped. */
const searchLimit = 20;

/**
 * Why an app without a release runs nothing: its last deployment failed, such as in its build, or was cancelled. Undefined
 * for every other app. The App object does not contain this.
 */
export async function notRunningReason(pool: Pool, app: Stored<App>): Promise<string | undefined> {
  if (app.spec.release || app.status?.message !== undefined) return undefined;
  const deployments = await listDeployments(pool, workloadIdOf(app), { limit: searchLimit });
  const last = deployments.find(({ state }) => state !== 'skipped');
  if (last?.state !== 'failed' && last?.state !== 'cancelled') return undefined;
  // The lines after the first are the end of a log, which the app's history shows.
  const reason = last.reason === null ? '' : `: ${last.reason.split('\n', 1)[0]}`;
  return `Nothing is running, because revision ${last.revision} ${last.state === 'failed' ? 'failed' : 'was cancelled'}${reason}`;
}
