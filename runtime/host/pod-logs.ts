import type { Pod } from '../contracts/pod.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import { textEnd, type TextEnd } from '../domain/text-end.ts';
import { isKubeError, type KubeClient } from '../kube/kube-client.ts';

/** Which container of which pods. */
export interface LogSource {
  namespace: string;
  labelSelector: string;
  container: string;
}

/** Bytes of one pod's log that are shown at most: the last ones. */
export const logMaxBytes = 1024 * 1024;
/** A log that nobody follows has been read within this time. */
const readMaxMs = 30_000;

/** The end of what a pod printed. */
export interface PodLog {
  name: string;
  /** Absent before the container has started. */
  log?: string;
  /** Whether of what was asked for the beginning is left out, since it is more than {@link logMaxBytes}. */
  truncated?: true;
}

/** The logs of some pods, of those that are wanted, oldest first. */
export async function readPodLogs(
  kube: Pick<KubeClient, 'list' | 'stream'>,
  { namespace, labelSelector, container }: LogSource,
  tail: number,
  wanted: (pod: Pod) => boolean = () => true,
): Promise<PodLog[]> {
  const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector });
  const byAge = items
    .filter(wanted)
    .sort((a, b) => (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? ''));
  const pods: PodLog[] = [];
  for (const { metadata } of byAge) {
    const { name } = metadata;
    const query = new URLSearchParams({ container, tailLines: String(tail) });
    const read = await readLog(kube, namespace, name, query, logMaxBytes);
    pods.push({ name, ...(read && { log: read.text }), ...(read?.truncated && { truncated: true }) });
  }
  return pods;
}

/** What a kubelet answers, under the status 200, where it has removed a container with its log. */
const removed = /^unable to retrieve container logs for \S+$/;

/**
 * The end of a container's log; undefined while there is none: before the container has started, or after the pod has gone.
 * Not by the API's own `limitBytes`, which keeps the beginning.
 */
export async function readLog(
  kube: Pick<KubeClient, 'stream'>,
  namespace: string,
  pod: string,
  query: URLSearchParams,
  maxBytes: number,
): Promise<TextEnd | undefined> {
  try {
    const chunks = kube.stream(logPath(namespace, pod, query), AbortSignal.timeout(readMaxMs));
    const log = textEnd(await lastBytes(chunks, maxBytes), maxBytes);
    return removed.test(log.text.trimEnd()) ? undefined : log;
  } catch (error) {
    if (isKubeError(error, 400) || isKubeError(error, 404)) return undefined;
    throw error;
  }
}

/** More than so many bytes from the end, where there are more; no more in memory than that and a chunk. */
async function lastBytes(chunks: AsyncIterable<Uint8Array>, count: number): Promise<Buffer> {
  const kept: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    kept.push(chunk);
    length += chunk.length;
    while (length - (kept[0]?.length ?? 0) > count) length -= kept.shift()?.length ?? 0;
  }
  return Buffer.concat(kept);
}

/** Where the API server has a container's log. */
export function logPath(namespace: string, pod: string, query: URLSearchParams): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/log?${query.toString()}`;
}
