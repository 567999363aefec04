import { kinds } from '../contracts/resources/kinds.ts';
import type { Volume, VolumeMount } from '../contracts/resources/volume.ts';
import { checkMountPath } from '../domain/container-paths.ts';
import { Problem } from '../domain/problem.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { checkClaims } from '../kube/volume-claims.ts';

/** Checks the paths of mounts, and that their volumes exist and have the storage of their name. @throws Problem `invalid_value` */
export async function checkMounts(
  kube: Pick<KubeClient, 'get'>,
  namespace: string,
  mounts: readonly VolumeMount[],
): Promise<void> {
  const paths = new Set<string>();
  for (const { name, path: sent } of mounts) {
    const path = checkMountPath(sent);
    if (paths.has(path)) throw refusal(`Two volumes have the mount path ${path}. Choose another path for one of them.`);
    paths.add(path);
    const volume = await kube.get<Volume>(kinds.Volume, name, namespace);
    if (volume?.metadata.deletionTimestamp === undefined && volume) continue;
    throw refusal(`There is no volume "${name}" in this environment. Create it with \`svc volume create\`.`);
  }
  await checkClaims(kube, namespace, mounts);
}

function refusal(message: string): Problem {
  return new Problem('invalid_value', message, { details: { field: 'volumes' } });
}
