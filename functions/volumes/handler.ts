import { volumeCreate, volumeUpdate, volumeView } from '../../runtime/contracts/api/volumes.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Volume } from '../../runtime/contracts/resources/volume.ts';
import { checkVolumeName } from '../../runtime/domain/names.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { checkBytes } from '../../runtime/domain/quantity.ts';
import { objectRoutes } from '../../runtime/api/object-routes.ts';
import { checkStorageQuota } from '../../runtime/api/quota.ts';
import { checkExpandable, checkStorageClass } from '../../runtime/api/storage-class.ts';
import type { Route } from '../../runtime/http/route.ts';
import type { Environment } from '../../runtime/kube/environments.ts';
import type { KubeClient, ObjectReader } from '../../runtime/kube/kube-client.ts';
import { usersPhrase, volumeUsers } from '../../runtime/kube/volume-users.ts';
import { volumeToView } from './view.ts';

const minSize = '1Mi';

/** `/projects/{project}/volumes`: Volume objects, which the Volume controller reconciles. */
export function createVolumeRoutes({ kube }: { kube: KubeClient }): Route[] {
  const volumes = objectRoutes<Volume>(kube, 'Volume');
  const viewer = async (environment: Environment, _volumes: readonly unknown[] = [], reader: ObjectReader = kube) => {
    const usersOf = await volumeUsers(reader, environment.namespace);
    return (volume: Stored<Volume>) => volumeToView(volume, environment, usersOf(volume.metadata.name));
  };

  return [
    ...volumes.collection({
      view: volumeView,
      viewer,
      create: {
        summary: 'Creates a volume that apps, functions and jobs can mount.',
        body: volumeCreate,
        async prepare({ body, environment }) {
          const { name, ...spec } = body;
          checkVolumeName(name);
          checkBytes(spec.size, 'size', { min: minSize });
          await checkStorageClass(kube, spec.storageClass);
          await checkStorageQuota(kube, environment, spec.size);
          return { spec };
        },
      },
      list: { summary: 'Lists the volumes of an environment by name.' },
      read: { summary: 'Shows a volume and the workloads that mount it.' },
      delete: {
        summary:
          'Deletes a volume and its data. Fails while a workload mounts it; 202 while the deletion is in progress.',
        role: 'admin',
        async check({ metadata: { name, namespace = '' } }) {
          const mountedBy = (await volumeUsers(kube, namespace))(name);
          if (mountedBy.length === 0) return;
          throw new Problem(
            'in_use',
            `The volume "${name}" is mounted by ${usersPhrase(mountedBy)}. Unmount it first (--no-volumes) or delete them.`,
            { details: { mountedBy } },
          );
        },
      },
    }),
    volumes.route({
      method: 'PATCH',
      path: '',
      access: { project: 'deployer', scope: 'write' },
      summary: 'Expands a volume; a volume cannot shrink.',
      audit: 'volume.resize',
      body: volumeUpdate,
      replies: { 200: volumeView },
      async handle({ body: { size }, environment, find }) {
        const bytes = checkBytes(size, 'size', { min: minSize });
        const volume = await find();
        const expands = await checkExpansion(kube, volume, bytes);
        if (expands) {
          await checkStorageQuota(kube, environment, size);
          const { spec } = await kube.replace({ ...volume, spec: { ...volume.spec, size } });
          volume.spec = spec;
        }
        return { status: 200, body: (await viewer(environment))(volume), audit: expands && { size } };
      },
    }),
  ];
}

/**
 * Whether the size changes. @throws Problem `invalid_value` for a smaller size, `not_ready` for a volume that is being
 * deleted or has no storage yet, `volume_not_expandable`
 */
async function checkExpansion(
  kube: KubeClient,
  { metadata: { name, deletionTimestamp }, spec, status }: Stored<Volume>,
  bytes: number,
): Promise<boolean> {
  if (deletionTimestamp !== undefined) throw new Problem('not_ready', `The volume "${name}" is being deleted.`);
  const currentBytes = checkBytes(spec.size, 'size', { min: '0' });
  if (bytes < currentBytes) {
    throw new Problem(
      'invalid_value',
      `The volume "${name}" has ${spec.size} and cannot shrink. Create a smaller volume and copy the data.`,
      { details: { field: 'size' } },
    );
  }
  if (bytes === currentBytes) return false;
  // Kubernetes expands a claim only after its storage was created.
  if (status?.capacity === undefined || status.storageClass === undefined) {
    throw new Problem(
      'not_ready',
      `The volume "${name}" has no storage yet. Expand it after a workload has mounted it, or delete and recreate it.`,
    );
  }
  await checkExpandable(kube, status.storageClass);
  return true;
}
