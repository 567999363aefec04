import type { Pod } from '../contracts/pod.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { Id } from '../domain/ids.ts';
import { buildNamespace, idLabel, roleLabel } from '../domain/labels.ts';
import type { TextTail } from '../domain/text-tail.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { boundedLog, buildLogMaxBytes } from '../records/build-logs.ts';
import { readLog } from './pod-logs.ts';

/**
 * Reads the output of a deployment's build: that of the container that fetches the source, then that of the build.
 * Undefined without a pod, or without output.
 */
export async function readBuildLog(
  kube: Pick<KubeClient, 'list' | 'stream'>,
  deploymentId: Id,
): Promise<TextTail | undefined> {
  const { items } = await kube.list<Pod>(kinds.Pod, {
    namespace: buildNamespace,
    labelSelector: `${idLabel}=${deploymentId},${roleLabel}=build`,
  });
  const parts: string[] = [];
  let isTruncated = false;
  for (const { metadata, spec } of items) {
    for (const { name } of [...(spec.initContainers ?? []), ...spec.containers]) {
      const query = new URLSearchParams({ container: name });
      const log = await readLog(kube, buildNamespace, metadata.name, query, buildLogMaxBytes);
      if (log === undefined || log.text === '') continue;
      // Earlier parts are dropped, because the gap would be in the middle of the text.
      if (log.truncated) parts.length = 0;
      isTruncated ||= log.truncated;
      parts.push(log.text.endsWith('\n') ? log.text : `${log.text}\n`);
    }
  }
  if (parts.length === 0) return undefined;
  const { text, truncated } = boundedLog(parts.join(''));
  return { text, truncated: truncated || isTruncated };
}
