import type { Pod } from '../contracts/pod.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { Id } from '../domain/ids.ts';
import { buildNamespace, idLabel, roleLabel } from '../domain/labels.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { boundedLog, type BuildLog } from '../records/build-logs.ts';
import { readLog } from './pod-logs.ts';

/** Bytes of one container's log that are asked for. */
const readMaxBytes = 4 * 1024 * 1024;

/**
 * What the pods of a deployment's build have printed so far: what fetched the source and then what built it, as one
 * text. Undefined when there is no pod, or none that has printed anything.
 */
export async function readBuildLog(
  kube: Pick<KubeClient, 'list' | 'text'>,
  deploymentId: Id,
): Promise<BuildLog | undefined> {
  const { items } = await kube.list<Pod>(kinds.Pod, {
    namespace: buildNamespace,
    labelSelector: `${idLabel}=${deploymentId},${roleLabel}=build`,
  });
  const parts: string[] = [];
  for (const { metadata, spec } of items) {
    for (const { name } of [...(spec.initContainers ?? []), ...spec.containers]) {
      const query = new URLSearchParams({ container: name, limitBytes: String(readMaxBytes) });
      const text = await readLog(kube, buildNamespace, metadata.name, query);
      if (text !== undefined && text !== '') parts.push(text.endsWith('\n') ? text : `${text}\n`);
    }
  }
  return parts.length === 0 ? undefined : boundedLog(parts.join(''));
}
