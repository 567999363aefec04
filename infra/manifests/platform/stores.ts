import type { V1Service, V1StatefulSet } from '@kubernetes/client-node';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { managedLabels } from '../../../runtime/domain/labels.ts';
import { storePod, storeServers, type StoreServer } from '../store-server.ts';
import { componentLabels, systemObject, type Manifest } from './object.ts';
import { secretMounts, secretVolumes, type ProbePace } from './pod.ts';
import { secretFile, type SecretName } from './secrets.ts';

/** A store of the platform. */
interface Store {
  name: 'svc-postgres' | 'svc-redis';
  server: StoreServer;
  secret: SecretName;
  storage: string;
  /** The CPU request. */
  cpu: string;
}

const postgres: Store = {
  name: 'svc-postgres',
  server: storeServers.postgres,
  secret: 'database',
  storage: '5Gi',
  // Callers of the API wait for it.
  cpu: '100m',
};
const redis: Store = { name: 'svc-redis', server: storeServers.redis, secret: 'redis', storage: '1Gi', cpu: '50m' };

/** PostgreSQL, which holds the platform's records. Pure. */
export function postgresManifests(image: string, pace: ProbePace): Manifest[] {
  return storeManifests(postgres, image, pace);
}

/** Redis, which holds BullMQ's queues, with an append-only file. Pure. */
export function redisManifests(image: string, pace: ProbePace): Manifest[] {
  return storeManifests(redis, image, pace);
}

function storeManifests({ name, server, secret, storage, cpu }: Store, image: string, pace: ProbePace): Manifest[] {
  const labels = componentLabels(name);
  return [
    systemObject<V1Service>(
      kinds.Service,
      name,
      {
        spec: { selector: labels, ports: [{ name: 'store', port: server.port, targetPort: 'store', protocol: 'TCP' }] },
      },
      labels,
    ),
    systemObject<V1StatefulSet>(
      kinds.StatefulSet,
      name,
      {
        spec: {
          serviceName: name,
          replicas: 1,
          selector: { matchLabels: labels },
          template: {
            metadata: { labels: { ...managedLabels(), ...labels } },
            spec: storePod({
              server,
              name,
              image,
              passwordFile: secretFile(secret),
              mounts: secretMounts([secret]),
              volumes: secretVolumes([secret]),
              readySeconds: pace.storeReady,
              serviceAccountName: name,
              cpu,
            }),
          },
          // Uses the default storage class. A StatefulSet's claims cannot be changed later: resize the claim itself.
          volumeClaimTemplates: [
            {
              metadata: { name: 'data', labels },
              spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } },
            },
          ],
        },
      },
      labels,
    ),
  ];
}
