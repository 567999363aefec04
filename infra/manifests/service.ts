import type { V1Service, V1StatefulSet } from '@kubernetes/client-node';
import { eventsPort, storeEventsPath } from '../../runtime/contracts/event-exchange.ts';
import type { BuiltIn } from '../../runtime/contracts/kubernetes.ts';
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

export type ServiceStatefulSet = BuiltIn<V1StatefulSet, 'spec'> & { spec: { volumeClaimTemplates: unknown[] } };

export interface ServiceManifestInput {
  id: Id;
  name: string;
  namespace: string;
  type: ServerType;
  storage: ServiceSpec['storage'];
  image: string;
  /** Seconds between two readiness probes. */
  readySeconds: number;
  /** Whether the status of a server that failed has the end of its log; servers of the first release do not. Default true. */
  logsOnError?: boolean;
}

const claimTemplate = 'data';
const credentialsFolder = '/etc/svc/credentials';
const eventsFolder = '/etc/svc/events';

/** The name that the StatefulSet gives the claim of its only pod. */
export function serviceClaimName(name: string): string {
  return `${claimTemplate}-${name}-0`;
}

/** The DNS name of a service inside the cluster. */
export function serviceHost({ name, namespace }: { name: string; namespace: string }): string {
  return `${name}.${namespace}.svc`;
}

/**
 * One server with its own storage. It reads its password from a file, so that no pod spec contains it. The pod has no
 * access to the Kubernetes API. Pure.
 */
export function serviceStatefulSet(input: ServiceManifestInput): ServiceStatefulSet {
  const { id, name, namespace, type, storage, image, readySeconds, logsOnError = true } = input;
  const workload = { kind: 'Service' as const, name, id };
  const labels = workloadLabels(workload);
  const events = type === 'minio' ? eventSender(input) : undefined;
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
          server: storeServers[type],
          name: type,
          image,
          readySeconds,
          logsOnError,
          passwordFile: `${credentialsFolder}/${passwordField(type)}`,
          mounts: [{ name: 'credentials', mountPath: credentialsFolder, readOnly: true }, ...(events?.mounts ?? [])],
          volumes: [
            { name: 'credentials', secret: { secretName: credentialsName(name), defaultMode: 0o440 } },
            ...(events?.volumes ?? []),
          ],
          ...(events && { env: events.env }),
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

/** The address to which an object store sends the events of its buckets, and the token that identifies it. */
function eventSender({
  name,
  namespace,
}: ServiceManifestInput): Pick<StorePodInput, 'mounts' | 'volumes'> & { env: Record<string, string> } {
  return {
    env: {
      MINIO_EVENTS_URL: `http://${eventsService}.${systemNamespace}.svc:${eventsPort}${storeEventsPath(namespace, name)}`,
      MINIO_EVENTS_TOKEN_FILE: `${eventsFolder}/${eventsTokenField}`,
    },
    mounts: [{ name: 'events', mountPath: eventsFolder, readOnly: true }],
    volumes: [{ name: 'events', secret: { secretName: eventsTokenName(name), defaultMode: 0o440 } }],
  };
}

/** The address of the server inside the cluster. Pure. */
export function serviceAddress({
  id,
  name,
  namespace,
  type,
}: Omit<ServiceManifestInput, 'image'>): BuiltIn<V1Service, 'spec'> {
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
