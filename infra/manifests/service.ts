import { eventsPort, storeEventsPath } from '../../runtime/contracts/event-exchange.ts';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import type { ServerType } from '../../runtime/contracts/resources/platform-config.ts';
import {
  credentialsName,
  defaultStorageSize,
  eventsTokenField,
  eventsTokenName,
  passwordField,
  type ServiceSpec,
} from '../../runtime/contracts/resources/service.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { podLabels, servingSelector, systemNamespace, workloadLabels } from '../../runtime/domain/labels.ts';
import { canonicalBytes } from '../../runtime/domain/quantity.ts';
import { eventsService } from './platform/network.ts';
import { storePod, storeServers, type StorePodInput } from './store-server.ts';

/** Of a StatefulSet, what the platform reads again. */
export interface ServiceStatefulSet extends KubeObject {
  spec: { volumeClaimTemplates: unknown[] } & Record<string, unknown>;
}

export interface ServiceManifestInput {
  id: Id;
  name: string;
  namespace: string;
  type: ServerType;
  storage: ServiceSpec['storage'];
  image: string;
  /** Seconds between two looks whether the server answers. */
  readySeconds: number;
}

const claimTemplate = 'data';
const credentialsFolder = '/etc/svc/credentials';
const eventsFolder = '/etc/svc/events';

/** The name that a StatefulSet gives the claim of its one pod. */
export function serviceClaimName(name: string): string {
  return `${claimTemplate}-${name}-0`;
}

/** The name that workloads reach a service by. */
export function serviceHost({ name, namespace }: { name: string; namespace: string }): string {
  return `${name}.${namespace}.svc`;
}

/**
 * One server with storage of its own. Its password comes from a file, so that it stands in no pod, and nothing of the
 * Kubernetes API is reachable with what the pod has. Pure.
 */
export function serviceStatefulSet(input: ServiceManifestInput): ServiceStatefulSet {
  const { id, name, namespace, type, storage, image, readySeconds } = input;
  const workload = { kind: 'Service' as const, name, id };
  const labels = workloadLabels(workload);
  const told = type === 'minio' ? tellsOfObjects(input) : undefined;
  const size = canonicalBytes(storage?.size ?? defaultStorageSize);
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name, namespace, labels },
    spec: {
      serviceName: name,
      replicas: 1,
      selector: { matchLabels: servingSelector(workload) },
      template: {
        metadata: { labels: podLabels(workload, 'serve') },
        spec: storePod({
          ...{ server: storeServers[type], name: type, image, readySeconds },
          passwordFile: `${credentialsFolder}/${passwordField(type)}`,
          mounts: [{ name: 'credentials', mountPath: credentialsFolder, readOnly: true }, ...(told?.mounts ?? [])],
          volumes: [
            { name: 'credentials', secret: { secretName: credentialsName(name), defaultMode: 0o440 } },
            ...(told?.volumes ?? []),
          ],
          ...(told && { env: told.env }),
        }),
      },
      volumeClaimTemplates: [
        {
          metadata: { name: claimTemplate, labels },
          spec: {
            accessModes: ['ReadWriteOnce'],
            resources: { requests: { storage: size } },
            ...(storage?.storageClass !== undefined && { storageClassName: storage.storageClass }),
          },
        },
      ],
    },
  };
}

/** Where an object store tells of what comes and goes in its buckets, and the token that it is known by there. */
function tellsOfObjects({ name, namespace }: ServiceManifestInput): Pick<StorePodInput, 'mounts' | 'volumes'> & {
  env: Record<string, string>;
} {
  return {
    env: {
      MINIO_EVENTS_URL: `http://${eventsService}.${systemNamespace}.svc:${eventsPort}${storeEventsPath(namespace, name)}`,
      MINIO_EVENTS_TOKEN_FILE: `${eventsFolder}/${eventsTokenField}`,
    },
    mounts: [{ name: 'events', mountPath: eventsFolder, readOnly: true }],
    volumes: [{ name: 'events', secret: { secretName: eventsTokenName(name), defaultMode: 0o440 } }],
  };
}

/** The address that workloads reach the server at. Pure. */
export function serviceAddress({ id, name, namespace, type }: Omit<ServiceManifestInput, 'image'>): KubeObject {
  const workload = { kind: 'Service' as const, name, id };
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace, labels: workloadLabels(workload) },
    spec: {
      selector: servingSelector(workload),
      ports: [{ name: 'store', port: storeServers[type].port, targetPort: 'store', protocol: 'TCP' }],
    },
  };
}
