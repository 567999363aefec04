import { createHash } from 'node:crypto';
import type {
  V1DaemonSet,
  V1PodTemplateSpec,
  V1Service,
  V1ServiceAccount,
  V1StatefulSet,
} from '@kubernetes/client-node';
import type { Json } from '../../../runtime/contracts/kubernetes.ts';
import { halfOf } from '../../../runtime/contracts/resources/monitoring.ts';
import { kinds, type ResourceKind } from '../../../runtime/contracts/resources/kinds.ts';
import { apiGroup, appLabel, managedLabels } from '../../../runtime/domain/labels.ts';
import type { ComponentName, MonitoringNamespace } from '../../../runtime/domain/monitoring.ts';
import type { Manifest } from '../platform/object.ts';
import { containerSecurity, podSecurity, resources } from '../platform/pod.ts';
import type { ComponentSettings } from './component.ts';

/** On pods: a digest of the configuration that they read when they start. */
const configurationAnnotation = `${apiGroup}/configuration`;

/** The labels of a component's objects and pods. */
function labelsOf(name: ComponentName): Record<string, string> {
  return { ...managedLabels(), [appLabel]: name };
}

/** An object of a component. Pure. @typeParam T the package's type of the kind, which checks the fields */
export function componentObject<T extends object = never>(
  component: { name: ComponentName; namespace: MonitoringNamespace },
  kind: ResourceKind,
  name: string,
  fields: Omit<Json<NoInfer<T>>, 'apiVersion' | 'kind' | 'metadata'>,
): Manifest {
  return {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: { name, ...(kind.namespaced && { namespace: component.namespace }), labels: labelsOf(component.name) },
    ...fields,
  };
}

/** A Service that leads to the port `targetPort` of the component's pods. Pure. */
export function componentService(
  component: { name: ComponentName; namespace: MonitoringNamespace },
  name: string,
  { port, targetPort }: { port: number; targetPort: string },
): Manifest {
  return componentObject<V1Service>(component, kinds.Service, name, {
    spec: {
      selector: { [appLabel]: component.name },
      ports: [{ name: targetPort, port, targetPort, protocol: 'TCP' }],
    },
  });
}

/** The ServiceAccount of a component. No component uses the Kubernetes API. Pure. */
export function componentAccount(component: { name: ComponentName; namespace: MonitoringNamespace }): Manifest {
  return componentObject<V1ServiceAccount>(component, kinds.ServiceAccount, component.name, {
    automountServiceAccountToken: false,
  });
}

/** The digest of files that a component reads when it starts. Pure. */
export function configurationDigest(files: Readonly<Record<string, string>>): string {
  return createHash('sha256').update(JSON.stringify(files)).digest('hex').slice(0, 16);
}

type Container = Json<NonNullable<V1PodTemplateSpec['spec']>>['containers'][number];
type PodSpec = Json<NonNullable<V1PodTemplateSpec['spec']>>;

/**
 * The pod template of a component with one container, which meets the pod security standard `restricted`. Pure.
 * @param parts.digest changes when the pods have to restart, such as with a ConfigMap that is read at the start
 * @param parts.requests default: 20m CPU and half of the memory limit
 */
export function componentPod(
  name: ComponentName,
  { image, memory }: ComponentSettings,
  parts: {
    container: Omit<Container, 'name' | 'image' | 'resources' | 'securityContext'>;
    pod?: Omit<PodSpec, 'containers'>;
    digest?: string;
    requests?: { cpu?: string; memory?: string };
  },
): Json<V1PodTemplateSpec> {
  return {
    metadata: {
      labels: labelsOf(name),
      ...(parts.digest !== undefined && { annotations: { [configurationAnnotation]: parts.digest } }),
    },
    spec: {
      serviceAccountName: name,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: podSecurity(),
      containers: [
        {
          name,
          image,
          ...parts.container,
          resources: resources({ cpu: '20m', memory: halfOf(memory), ...parts.requests }, memory),
          securityContext: containerSecurity,
        },
      ],
      ...parts.pod,
    },
  };
}

/** A StatefulSet with one pod and a claim `data`. Pure. @param options.storage the size of the claim */
export function componentStatefulSet(
  component: { name: ComponentName; namespace: MonitoringNamespace },
  name: string,
  { template, storage }: { template: Json<V1PodTemplateSpec>; storage: string },
): Manifest {
  return componentObject<V1StatefulSet>(component, kinds.StatefulSet, name, {
    spec: {
      serviceName: name,
      replicas: 1,
      // In order, a pod that is killed again and again would never be replaced by one with more memory.
      podManagementPolicy: 'Parallel',
      selector: { matchLabels: { [appLabel]: component.name } },
      template,
      volumeClaimTemplates: [
        {
          metadata: { name: 'data', labels: labelsOf(component.name) },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } },
        },
      ],
    },
  });
}

/** A DaemonSet whose pods are all replaced at once, since none serves another one. Pure. */
export function componentDaemonSet(
  component: { name: ComponentName; namespace: MonitoringNamespace },
  template: Json<V1PodTemplateSpec>,
): Manifest {
  return componentObject<V1DaemonSet>(component, kinds.DaemonSet, component.name, {
    spec: {
      selector: { matchLabels: { [appLabel]: component.name } },
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '100%' } },
      template,
    },
  });
}
