import type { Pool } from 'pg';
import type { z } from 'zod';
import type { deploymentLogs } from '../../runtime/contracts/api/apps.ts';
import { isOfRelease, servingPods } from '../../runtime/domain/labels.ts';
import { readBuildLog } from '../../runtime/host/build-log.ts';
import { readPodLogs } from '../../runtime/host/pod-logs.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { findBuildLog } from '../../runtime/records/build-logs.ts';
import type { Deployment } from '../../runtime/records/deployments.ts';

/** What a deployment has printed: the log of its build, kept or of now, and those of its pods that are still there. */
export async function readDeploymentLogs(
  { pool, kube }: { pool: Pool; kube: Pick<KubeClient, 'list' | 'text'> },
  { id, workloadId, namespace, revision, state }: Deployment,
  tail: number,
): Promise<z.infer<typeof deploymentLogs>> {
  const running = state === 'building' ? await readBuildLog(kube, id) : undefined;
  const build = running ?? (await findBuildLog(pool, id));
  const source = { namespace, labelSelector: servingPods(workloadId), container: 'app' };
  const pods =
    revision === null ? [] : await readPodLogs(kube, source, tail, ({ metadata }) => isOfRelease(metadata, revision));
  return { ...(build && { build }), pods };
}
