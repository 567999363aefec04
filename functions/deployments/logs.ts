import type { Pool } from 'pg';
import type { z } from 'zod';
import type { deploymentLogs } from '../../runtime/contracts/api/apps.ts';
import { isOfRelease, servingPods } from '../../runtime/domain/labels.ts';
import type { TextEnd } from '../../runtime/domain/text-end.ts';
import { readBuildLog } from '../../runtime/host/build-log.ts';
import { readPodLogs } from '../../runtime/host/pod-logs.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { findBuildLog } from '../../runtime/records/build-logs.ts';
import type { Deployment } from '../../runtime/records/deployments.ts';

/** Lines from the end of each pod's log when nobody said how many. */
const podLines = 1000;

/**
 * What a deployment has printed: the log of its build, kept or of now, and those of its pods that are still there.
 * @param tail lines from the end of each; default the whole build, and {@link podLines} of a pod
 */
export async function readDeploymentLogs(
  { pool, kube }: { pool: Pool; kube: Pick<KubeClient, 'list' | 'stream'> },
  { id, workloadId, namespace, revision, state }: Deployment,
  tail?: number,
): Promise<z.infer<typeof deploymentLogs>> {
  const running = state === 'building' ? await readBuildLog(kube, id) : undefined;
  const kept = running ?? (await findBuildLog(pool, id));
  const build = kept && tail !== undefined ? lastLines(kept, tail) : kept;
  const source = { namespace, labelSelector: servingPods(workloadId), container: 'app' };
  const pods =
    revision === null
      ? []
      : await readPodLogs(kube, source, tail ?? podLines, ({ metadata }) => isOfRelease(metadata, revision));
  return { ...(build && { build }), pods };
}

function lastLines({ text, truncated }: TextEnd, count: number): TextEnd {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  if (lines.length <= count) return { text, truncated };
  return { text: lines.slice(-count).join(''), truncated: true };
}
