import type { Pod } from '../contracts/pod.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import { isKubeError, type KubeClient } from '../kube/kube-client.ts';

/** Which container of which pods. */
export interface LogSource {
  namespace: string;
  labelSelector: string;
  container: string;
}

/** Bytes of one pod's log that are read at most. */
export const logMaxBytes = 1024 * 1024;

/** The logs of some pods, of those that are wanted, oldest first; `log` is absent before the container has started. */
export async function readPodLogs(
  kube: Pick<KubeClient, 'list' | 'text'>,
  { namespace, labelSelector, container }: LogSource,
  tail: number,
  wanted: (pod: Pod) => boolean = () => true,
): Promise<{ name: string; log?: string }[]> {
  const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector });
  const byAge = items
    .filter(wanted)
    .sort((a, b) => (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? ''));
  const pods = [];
  for (const { metadata } of byAge) {
    const query = new URLSearchParams({ container, tailLines: String(tail), limitBytes: String(logMaxBytes) });
    const log = await readLog(kube, namespace, metadata.name, query);
    pods.push({ name: metadata.name, ...(log !== undefined && { log }) });
  }
  return pods;
}

/** What a kubelet answers, under the status 200, where it has removed a container with its log. */
const removed = /^unable to retrieve container logs for \S+$/;

/** A container's log; undefined while there is none: before the container has started, or after the pod has gone. */
export async function readLog(
  kube: Pick<KubeClient, 'text'>,
  namespace: string,
  pod: string,
  query: URLSearchParams,
): Promise<string | undefined> {
  try {
    const log = await kube.text(logPath(namespace, pod, query));
    return removed.test(log.trimEnd()) ? undefined : log;
  } catch (error) {
    if (isKubeError(error, 400) || isKubeError(error, 404)) return undefined;
    throw error;
  }
}

/** Where the API server has a container's log. */
export function logPath(namespace: string, pod: string, query: URLSearchParams): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/log?${query.toString()}`;
}
