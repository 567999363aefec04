import type { KubeObject } from '../contracts/kubernetes.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import { Problem } from '../domain/problem.ts';
import type { KubeClient } from '../kube/kube-client.ts';

interface StorageClass extends KubeObject {
  allowVolumeExpansion?: boolean;
}

const defaultAnnotation = 'storageclass.kubernetes.io/is-default-class';

/** Refuses a class that the cluster does not have. @throws Problem `invalid_value` that names those that it has */
export async function checkStorageClass(kube: Pick<KubeClient, 'list'>, name: string | undefined): Promise<void> {
  const { items } = await kube.list<StorageClass>(kinds.StorageClass);
  const wanted = ({ metadata }: StorageClass) =>
    name === undefined ? metadata.annotations?.[defaultAnnotation] === 'true' : metadata.name === name;
  if (items.some(wanted)) return;
  const classes = items.map(({ metadata }) => metadata.name);
  const listed = classes.length > 0 ? `it has ${classes.join(', ')}` : 'it has none';
  const missing = name === undefined ? 'default storage class' : `storage class "${name}"`;
  throw new Problem('invalid_value', `The cluster has no ${missing}; ${listed}.`, {
    details: { field: 'storageClass', classes },
  });
}

/** Refuses to grow what cannot grow. @throws Problem `volume_not_expandable` */
export async function checkExpandable(kube: Pick<KubeClient, 'get'>, name: string): Promise<void> {
  const found = await kube.get<StorageClass>(kinds.StorageClass, name);
  if (found?.allowVolumeExpansion === true) return;
  throw new Problem(
    'volume_not_expandable',
    `The storage class "${name}" cannot expand volumes; create a larger volume and copy the data.`,
    { details: { storageClass: name } },
  );
}
