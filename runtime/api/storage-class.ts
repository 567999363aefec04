import type { KubeObject } from '../contracts/kubernetes.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import { Problem } from '../domain/problem.ts';
import type { KubeClient } from '../kube/kube-client.ts';

interface StorageClass extends KubeObject {
  allowVolumeExpansion?: boolean;
}

const defaultAnnotation = 'storageclass.kubernetes.io/is-default-class';

/** Checks that a storage class exists; by default, the default class. @throws Problem `invalid_value` that lists the classes */
export async function checkStorageClass(kube: Pick<KubeClient, 'list'>, name: string | undefined): Promise<void> {
  const { items } = await kube.list<StorageClass>(kinds.StorageClass);
  const matches = ({ metadata }: StorageClass) =>
    name === undefined ? metadata.annotations?.[defaultAnnotation] === 'true' : metadata.name === name;
  if (items.some(matches)) return;
  const classes = items.map(({ metadata }) => metadata.name);
  const listed = classes.length > 0 ? `Its storage classes: ${classes.join(', ')}` : 'It has no storage classes';
  const missing = name === undefined ? 'default storage class' : `storage class "${name}"`;
  throw new Problem('invalid_value', `The cluster has no ${missing}. ${listed}.`, {
    details: { field: 'storageClass', classes },
  });
}

/** Checks that volumes of a storage class can be expanded. @throws Problem `volume_not_expandable` */
export async function checkExpandable(kube: Pick<KubeClient, 'get'>, name: string): Promise<void> {
  const storageClass = await kube.get<StorageClass>(kinds.StorageClass, name);
  if (storageClass?.allowVolumeExpansion === true) return;
  throw new Problem(
    'volume_not_expandable',
    `The storage class "${name}" cannot expand volumes. Create a larger volume and copy the data.`,
    { details: { storageClass: name } },
  );
}
