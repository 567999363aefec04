import type { Pod } from '../contracts/pod.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import { textTail, type TextTail } from '../domain/text-tail.ts';
import { isKubeError, type KubeClient } from '../kube/kube-client.ts';
import { objectPath } from '../kube/resource-paths.ts';

/** Selects a container of some pods. */
export interface LogSource {
  namespace: string;
  labelSelector: string;
  container: string;
}

/** Maximum size of a pod's log; longer ones lose their beginning. */
export const logMaxBytes = 1024 * 1024;
/** Time-out of reading a log. */
const readMaxMs = 30_000;

/** The end of a pod's log. */
export interface PodLog {
  name: string;
  /** Absent before the container has started. */
  log?: string;
  /** Whether the beginning is missing, because the log exceeds {@link logMaxBytes}. */
  truncated?: true;
}

/** Reads the logs of the pods that match `filter`, oldest first. @param tail maximum lines of each; undefined for all */
export async function readPodLogs(
  kube: Pick<KubeClient, 'list' | 'stream'>,
  { namespace, labelSelector, container }: LogSource,
  tail: number | undefined,
  filter: (pod: Pod) => boolean = () => true,
): Promise<PodLog[]> {
  const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector });
  const byAge = items
    .filter(filter)
    .sort((a, b) => (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? ''));
  const pods: PodLog[] = [];
  for (const { metadata } of byAge) {
    const { name } = metadata;
    const query = new URLSearchParams({ container, ...(tail !== undefined && { tailLines: String(tail) }) });
    const log = await readLog(kube, namespace, name, query, logMaxBytes);
    pods.push({ name, ...(log && { log: log.text }), ...(log?.truncated && { truncated: true }) });
  }
  return pods;
}

/** The text that a kubelet returns with status 200 after it has deleted a container with its log. */
const deletedLog = /^unable to retrieve container logs for \S+$/;

/**
 * Reads the end of a container's log; undefined before the container has started and after the pod was deleted. Does not
 * use the API's `limitBytes`, which keeps the beginning.
 */
export async function readLog(
  kube: Pick<KubeClient, 'stream'>,
  namespace: string,
  pod: string,
  query: URLSearchParams,
  maxBytes: number,
): Promise<TextTail | undefined> {
  try {
    const chunks = kube.stream(logPath(namespace, pod, query), AbortSignal.timeout(readMaxMs));
    const log = textTail(await lastBytes(chunks, maxBytes), maxBytes);
    return deletedLog.test(log.text.trimEnd()) ? undefined : log;
  } catch (error) {
    if (isKubeError(error, 400) || isKubeError(error, 404)) return undefined;
    throw error;
  }
}

/**
 * Container runtimes divide long lines into parts, of 16 KiB (containerd) or 8 KiB (CRI-O), which the kubelet joins again. A
 * line of fewer characters was never divided.
 */
export const partMinLength = 2 * 1024;

/**
 * As {@link readLog}, with at least the last `tail` lines if there are as many, each of them whole. The kubelet counts the
 * parts of long lines as lines, and what it returns can begin within a line.
 */
export async function readLogTail(
  kube: Pick<KubeClient, 'stream'>,
  namespace: string,
  pod: string,
  query: URLSearchParams,
  tail: number,
): Promise<TextTail | undefined> {
  const withTail = new URLSearchParams(query);
  // One more, because the first one may be a part of a line.
  withTail.set('tailLines', String(tail + 1));
  const log = await readLog(kube, namespace, pod, withTail, logMaxBytes);
  if (log === undefined) return undefined;
  const lines = log.text.split('\n').filter(Boolean);
  if (lines.length > tail) return { ...log, text: lines.slice(-tail).join('\n') };
  // What is cut at the maximum size begins with a whole line.
  const isWhole = log.truncated || lines.every(({ length }) => length < partMinLength);
  return isWhole ? log : readLog(kube, namespace, pod, query, logMaxBytes);
}

/** Returns at least the last `count` bytes, with at most one chunk more in memory. */
async function lastBytes(chunks: AsyncIterable<Uint8Array>, count: number): Promise<Buffer> {
  const last: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    last.push(chunk);
    length += chunk.length;
    while (length - (last[0]?.length ?? 0) > count) length -= last.shift()?.length ?? 0;
  }
  return Buffer.concat(last);
}

/** The path of a container's log in the API. */
export function logPath(namespace: string, pod: string, query: URLSearchParams): string {
  return `${objectPath(kinds.Pod, pod, namespace)}/log?${query.toString()}`;
}
