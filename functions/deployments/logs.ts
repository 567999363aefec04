import type { Pool } from 'pg';
import type { z } from 'zod';
import type { deploymentLogs } from '../../runtime/contracts/api/apps.ts';
import { isOfRelease, servingPods } from '../../runtime/domain/labels.ts';
import type { TextTail } from '../../runtime/domain/text-tail.ts';
import { readBuildLog } from '../../runtime/workloads/build-log.ts';
import { readPodLogs } from '../../runtime/workloads/pod-logs.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { findCrashLog } from '../../runtime/records/crash-logs.ts';
import { findBuildLog } from '../../runtime/records/build-logs.ts';
import type { Deployment } from '../../runtime/records/deployments.ts';

/** Default number of lines from the end of each pod's log. */
export const defaultPodLines = 1000;

/**
 * The logs of a deployment: of its build, live or stored, of its pods that still exist, and of the pod that failed it.
 * @param tail lines from the end of each; default: the whole build log, and {@link defaultPodLines} of each pod
 */
export async function readDeploymentLogs(
  { pool, kube }: { pool: Pool; kube: Pick<KubeClient, 'list' | 'stream'> },
  { id, workloadId, namespace, revision, state }: Deployment,
  tail?: number,
): Promise<z.infer<typeof deploymentLogs>> {
  const live = state === 'building' ? await readBuildLog(kube, id) : undefined;
  const log = live ?? (await findBuildLog(pool, id));
  const build = log && tail !== undefined ? lastLines(log, tail) : log;
  const source = { namespace, labelSelector: servingPods(workloadId), container: 'app' };
  const pods =
    revision === null
      ? []
      : await readPodLogs(kube, source, tail ?? defaultPodLines, ({ metadata }) => isOfRelease(metadata, revision));
  const crash = state === 'failed' ? await findCrashLog(pool, id) : undefined;
  if (crash && !pods.some(({ name, log }) => name === crash.pod && log !== undefined && log !== '')) {
    const { text, truncated } = tail === undefined ? crash : lastLines(crash, tail);
    pods.push({ name: crash.pod, log: text, ...(truncated && { truncated: true }) });
  }
  return { ...(build && { build }), pods };
}

function lastLines({ text, truncated }: TextTail, count: number): TextTail {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  if (lines.length <= count) return { text, truncated };
  return { text: lines.slice(-count).join(''), truncated: true };
}
