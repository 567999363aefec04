import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';

/** A definition without a schema: the ingress, which reads these objects, checks them. */
function schemalessDefinition(group: string, version: string, kind: string, plural: string): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  };
}

/** The objects that a Kubernetes distribution provides before anything is installed. */
export const bootstrapObjects: readonly KubeObject[] = [
  schemalessDefinition('traefik.io', 'v1alpha1', 'IngressRoute', 'ingressroutes'),
  schemalessDefinition('traefik.io', 'v1alpha1', 'Middleware', 'middlewares'),
  schemalessDefinition('traefik.io', 'v1alpha1', 'ServersTransport', 'serverstransports'),
  {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'local', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    provisioner: 'svc.local/folder',
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'Immediate',
  } as KubeObject,
];
