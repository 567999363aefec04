import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { managedLabels } from '../../../runtime/domain/labels.ts';
import { componentLabels, systemObject, type Manifest } from './object.ts';
import {
  containerSecurity,
  podSecurity,
  resources,
  secretMounts,
  secretVolumes,
  type ProbePace,
  type VolumeMount,
} from './pod.ts';
import { secretFile, type SecretName } from './secrets.ts';

/** What PostgreSQL and Redis differ in. */
interface Store {
  name: 'svc-postgres' | 'svc-redis';
  port: number;
  secret: SecretName;
  env: Record<string, string>;
  /** Where the image keeps its data (infra/images). */
  dataPath: string;
  storage: string;
  /** Paths beside the data that the program writes. */
  scratch: string[];
  /** Succeeds when the store answers queries, which is later than when it accepts connections. */
  answers: string;
  memory: { request: string; limit: string };
}

const postgres: Store = {
  name: 'svc-postgres',
  port: 5432,
  secret: 'database',
  env: { POSTGRES_PASSWORD_FILE: secretFile('database') },
  dataPath: '/var/lib/svc/postgres',
  storage: '5Gi',
  scratch: ['/tmp', '/run'],
  answers:
    'PATH="$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)"; exec pg_isready -q -h 127.0.0.1 -p "${PORT:-5432}" -U svc -d svc',
  memory: { request: '128Mi', limit: '1Gi' },
};

const redis: Store = {
  name: 'svc-redis',
  port: 6379,
  secret: 'redis',
  env: { REDIS_PASSWORD_FILE: secretFile('redis') },
  dataPath: '/var/lib/svc/redis',
  storage: '1Gi',
  scratch: ['/tmp'],
  answers: 'REDISCLI_AUTH="$(cat "$REDIS_PASSWORD_FILE")" redis-cli -p "${PORT:-6379}" ping | grep -q PONG',
  memory: { request: '64Mi', limit: '512Mi' },
};

/** PostgreSQL: the platform's records. Pure. */
export function postgresManifests(image: string, pace: ProbePace): Manifest[] {
  return storeManifests(postgres, image, pace);
}

/** Redis: BullMQ's queues, kept in an append-only file. Pure. */
export function redisManifests(image: string, pace: ProbePace): Manifest[] {
  return storeManifests(redis, image, pace);
}

function storeManifests(store: Store, image: string, pace: ProbePace): Manifest[] {
  const labels = componentLabels(store.name);
  return [
    systemObject(
      kinds.Service,
      store.name,
      {
        spec: { selector: labels, ports: [{ name: 'store', port: store.port, targetPort: 'store', protocol: 'TCP' }] },
      },
      labels,
    ),
    systemObject(
      kinds.StatefulSet,
      store.name,
      {
        spec: {
          serviceName: store.name,
          replicas: 1,
          selector: { matchLabels: labels },
          template: { metadata: { labels: { ...managedLabels(), ...labels } }, spec: podSpec(store, image, pace) },
          // The default storage class. A StatefulSet's claims cannot be changed later: grow them in place.
          volumeClaimTemplates: [
            {
              metadata: { name: 'data', labels },
              spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: store.storage } } },
            },
          ],
        },
      },
      labels,
    ),
  ];
}

function podSpec(store: Store, image: string, { storeReady }: ProbePace): object {
  const scratch: VolumeMount[] = store.scratch.map((mountPath) => ({ name: mountPath.slice(1), mountPath }));
  return {
    serviceAccountName: store.name,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    // A store that is killed while it writes has to recover at its next start.
    terminationGracePeriodSeconds: 60,
    securityContext: podSecurity(),
    containers: [
      {
        name: store.name,
        image,
        env: Object.entries(store.env).map(([name, value]) => ({ name, value })),
        ports: [{ name: 'store', containerPort: store.port, protocol: 'TCP' }],
        // The first start makes the database cluster, which takes its time on a slow disk.
        startupProbe: { tcpSocket: { port: 'store' }, periodSeconds: 1, failureThreshold: 120 },
        livenessProbe: { tcpSocket: { port: 'store' }, periodSeconds: 20, timeoutSeconds: 5, failureThreshold: 3 },
        readinessProbe: {
          exec: { command: ['sh', '-c', store.answers] },
          periodSeconds: storeReady,
          timeoutSeconds: 3,
        },
        securityContext: containerSecurity,
        resources: resources({ cpu: '50m', memory: store.memory.request }, store.memory.limit),
        volumeMounts: [{ name: 'data', mountPath: store.dataPath }, ...scratch, ...secretMounts([store.secret])],
      },
    ],
    volumes: [...scratch.map(({ name }) => ({ name, emptyDir: {} })), ...secretVolumes([store.secret])],
  };
}
