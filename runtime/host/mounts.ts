import { kinds } from '../contracts/resources/kinds.ts';
import type { Volume, VolumeMount } from '../contracts/resources/volume.ts';
import { Problem } from '../domain/problem.ts';
import type { KubeClient } from '../kube/kube-client.ts';

/** Checks that volumes exist, and where they are mounted. @throws Problem `invalid_value` */
export async function checkMounts(
  kube: Pick<KubeClient, 'get'>,
  namespace: string,
  mounts: readonly VolumeMount[],
): Promise<void> {
  const paths = new Set<string>();
  for (const { name, path } of mounts) {
    if (!/^\/[^:]+$/.test(path) || path.split('/').includes('..')) {
      throw refusal(`"${path}" is no path to mount a volume at: give an absolute one, such as /data.`);
    }
    if (paths.has(path)) throw refusal(`Two volumes are to be mounted at ${path}.`);
    paths.add(path);
    const volume = await kube.get<Volume>(kinds.Volume, name, namespace);
    if (volume?.metadata.deletionTimestamp === undefined && volume) continue;
    throw refusal(`There is no volume "${name}" in this environment; create it with \`svc volume create\`.`);
  }
}

function refusal(message: string): Problem {
  return new Problem('invalid_value', message, { details: { field: 'volumes' } });
}
