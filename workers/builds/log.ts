import type { Pool } from 'pg';
import type { Id } from '../../runtime/domain/ids.ts';
import { readBuildLog } from '../../runtime/host/build-log.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { saveBuildLog } from '../../runtime/records/build-logs.ts';

/**
 * Takes over what a build's pods have printed so far into PostgreSQL, since the pods go. What was kept stays when there
 * is no pod to ask any more.
 */
export function createKeepLog({ pool, kube }: { pool: Pool; kube: Pick<KubeClient, 'list' | 'stream'> }) {
  return async ({ id }: { id: Id }): Promise<void> => {
    const log = await readBuildLog(kube, id);
    if (log !== undefined) await saveBuildLog(pool, id, log);
  };
}
