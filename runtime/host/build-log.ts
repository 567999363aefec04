import type { Pod } from '../contracts/pod.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { Id } from '../domain/ids.ts';
import { buildNamespace, idLabel, roleLabel } from '../domain/labels.ts';
import type { TextEnd } from '../domain/text-end.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { boundedLog, buildLogMaxBytes } from '../records/build-logs.ts';
import { readLog } from './pod-logs.ts';

/**
 * What the pods of a deployment's build have printed so far: what fetched the source and then what built it, as one
 * text. Undefined when there is no pod, or none that has printed anything.
 */
export async function readBuildLog(
  kube: Pick<KubeClient, 'list' | 'stream'>,
  deploymentId: Id,
): Promise<TextEnd | undefined> {
  const { items } = await kube.list<Pod>(kinds.Pod, {
    namespace: buildNamespace,
    labelSelector: `${idLabel}=${deploymentId},${roleLabel}=build`,
  });
  const parts: string[] = [];
  let leftOut = false;
  for (const { metadata, spec } of items) {
    for (const { name } of [...(spec.initContainers ?? []), ...spec.containers]) {
      const query = new URLSearchParams({ container: name });
      const log = await readLog(kube, buildNamespace, metadata.name, query, buildLogMaxBytes);
      if (log === undefined || log.text === '') continue;
      // With what came before, the gap would be in the middle, where nothing tells of it.
      if (log.truncated) parts.length = 0;
      leftOut ||= log.truncated;
      parts.push(log.text.endsWith('\n') ? log.text : `${log.text}\n`);
    }
  }
  if (parts.length === 0) return undefined;
  const { text, truncated } = boundedLog(parts.join(''));
  return { text, truncated: truncated || leftOut };
}
