import type { KubernetesObject } from './object.ts';
import { clusterRoleBinding } from './object.ts';

/** The default storage class, named as k3s names its own; `volume-provisioner` serves it. */
const storageClass: KubernetesObject = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name: 'local-path', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
  provisioner: 'testcluster.svc/directory',
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'WaitForFirstConsumer',
};

function user(name: string): object {
  return { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name };
}

/** The objects that the cluster's own processes need first: their permissions and the storage class. */
export const baseObjects: readonly KubernetesObject[] = [
  clusterRoleBinding('testcluster:kubelet-api', 'system:kubelet-api-admin', user('testcluster:kube-apiserver')),
  clusterRoleBinding(
    'testcluster:volume-provisioner',
    'system:persistent-volume-provisioner',
    user('testcluster:volume-provisioner'),
  ),
  storageClass,
];
