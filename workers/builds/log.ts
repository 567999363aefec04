import type { Pool } from 'pg';
import type { Id } from '../../runtime/domain/ids.ts';
import { readBuildLog } from '../../runtime/workloads/build-log.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { saveBuildLog } from '../../runtime/records/build-logs.ts';

/**
 * Saves the output of a build's pods in PostgreSQL, because the pods are deleted with the build. A saved log stays
 * unchanged when there is no pod to read.
 */
export function createLogSaver({ pool, kube }: { pool: Pool; kube: Pick<KubeClient, 'list' | 'stream'> }) {
  return async ({ id }: { id: Id }): Promise<void> => {
    const log = await readBuildLog(kube, id);
    if (log !== undefined) await saveBuildLog(pool, id, log);
  };
}
