import type { V1PodSpec, V1Probe, V1Volume, V1VolumeMount } from '@kubernetes/client-node';
import type { Json } from '../../runtime/contracts/kubernetes.ts';
import type { ServerType } from '../../runtime/contracts/resources/platform-config.ts';
import { containerSecurity, podSecurity, resources } from './platform/pod.ts';

/** The differences between the images of stores (infra/images). */
export interface StoreServer {
  port: number;
  /** The variable with the path of the password file. */
  passwordFile: string;
  /** The folder where the image keeps its data. */
  dataPath: string;
  /** Further paths that the program writes to. */
  scratch: readonly string[];
  /** Further variables. */
  env?: Readonly<Record<string, string>>;
  /**
   * The readiness check: a shell command that succeeds or a path that returns 200 once the server answers queries, or an
   * open port for a server that accepts no connections before that.
   */
  readiness: string | { path: string } | { listening: true };
  memory: { request: string; limit: string };
}

/** The servers with an image. Each has one user with all rights, `svc`; Redis accepts everyone with the password. */
export const storeServers = {
  postgres: {
    port: 5432,
    passwordFile: 'POSTGRES_PASSWORD_FILE',
    dataPath: '/var/lib/svc/postgres',
    scratch: ['/tmp', '/run'],
    readiness:
      'PATH="$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)"; exec pg_isready -q -h 127.0.0.1 -p "${PORT:-5432}" -U svc -d svc',
    memory: { request: '128Mi', limit: '1Gi' },
  },
  // Three quarters of its limit are for data: the rest is for buffers and for the copy that rewrites the append-only file.
  redis: {
    port: 6379,
    passwordFile: 'REDIS_PASSWORD_FILE',
    dataPath: '/var/lib/svc/redis',
    scratch: ['/tmp'],
    env: { REDIS_MAXMEMORY: String(384 * 1024 * 1024) },
    readiness: 'REDISCLI_AUTH="$(cat "$REDIS_PASSWORD_FILE")" redis-cli -p "${PORT:-6379}" ping | grep -q PONG',
    memory: { request: '64Mi', limit: '512Mi' },
  },
  mysql: {
    port: 3306,
    passwordFile: 'MARIADB_PASSWORD_FILE',
    dataPath: '/var/lib/svc/mariadb',
    scratch: ['/tmp', '/run'],
    readiness:
      'MYSQL_PWD="$(cat "$MARIADB_PASSWORD_FILE")" exec mariadb-admin --no-defaults --protocol=tcp -h 127.0.0.1 -P "${PORT:-3306}" -u svc --silent ping',
    memory: { request: '128Mi', limit: '1Gi' },
  },
  minio: {
    port: 9000,
    passwordFile: 'MINIO_ROOT_PASSWORD_FILE',
    dataPath: '/var/lib/svc/minio',
    scratch: ['/tmp'],
    // https://min.io/docs/minio/linux/operations/monitoring/healthcheck-probe.html
    readiness: { path: '/minio/health/cluster' },
    memory: { request: '256Mi', limit: '1Gi' },
  },
  // The variables are those of MongoDB's own image, which can replace FerretDB's. Both open their port to other hosts only
  // once their user exists, and FerretDB has no client for a readiness check.
  mongodb: {
    port: 27_017,
    passwordFile: 'MONGO_INITDB_ROOT_PASSWORD_FILE',
    // The client in MongoDB's image writes to its home folder.
    env: { MONGO_INITDB_ROOT_USERNAME: 'svc', HOME: '/tmp' },
    dataPath: '/data/db',
    scratch: ['/tmp'],
    readiness: { listening: true },
    memory: { request: '128Mi', limit: '1Gi' },
  },
} as const satisfies Record<ServerType, StoreServer>;

export interface StorePodInput {
  server: StoreServer;
  /** The container's name. */
  name: string;
  image: string;
  /** The path of the password file, in one of `mounts`. */
  passwordFile: string;
  /** Mounts in addition to the data, which is the volume `data`, and the server's scratch paths. */
  mounts: readonly V1VolumeMount[];
  volumes: readonly Json<V1Volume>[];
  /** Seconds between two readiness probes. */
  readySeconds: number;
  serviceAccountName?: string;
  /** Whether the status of a container that failed has the end of its log. */
  logsOnError?: boolean;
  /** Variables in addition to the server's own. */
  env?: Readonly<Record<string, string>>;
  /** The CPU request. Default `50m`. */
  cpu?: string;
}

/** The spec of a pod that runs a store; its StatefulSet provides the volume `data`. Pure. */
export function storePod(input: StorePodInput): Json<V1PodSpec> {
  const { server, name, image, passwordFile, mounts, volumes, readySeconds, serviceAccountName, env = {} } = input;
  const { logsOnError = false, cpu = '50m' } = input;
  const scratch: V1VolumeMount[] = server.scratch.map((mountPath) => ({ name: mountPath.slice(1), mountPath }));
  return {
    ...(serviceAccountName !== undefined && { serviceAccountName }),
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    // A store that is killed while it writes has to recover on its next start.
    terminationGracePeriodSeconds: 60,
    securityContext: podSecurity(),
    containers: [
      {
        name,
        image,
        env: [
          ...Object.entries({ ...server.env, ...env }).map(([variable, value]) => ({ name: variable, value })),
          { name: server.passwordFile, value: passwordFile },
        ],
        ports: [{ name: 'store', containerPort: server.port, protocol: 'TCP' }],
        // The first start creates the database files, which takes long on a slow disk.
        startupProbe: { tcpSocket: { port: 'store' }, periodSeconds: 1, failureThreshold: 120 },
        livenessProbe: { tcpSocket: { port: 'store' }, periodSeconds: 20, timeoutSeconds: 5, failureThreshold: 3 },
        readinessProbe: { ...readinessAction(server.readiness), periodSeconds: readySeconds, timeoutSeconds: 3 },
        securityContext: containerSecurity,
        resources: resources({ cpu, memory: server.memory.request }, server.memory.limit),
        volumeMounts: [{ name: 'data', mountPath: server.dataPath }, ...scratch, ...mounts],
        ...(logsOnError && { terminationMessagePolicy: 'FallbackToLogsOnError' }),
      },
    ],
    volumes: [...scratch.map(({ name: volume }) => ({ name: volume, emptyDir: {} })), ...volumes],
  };
}

function readinessAction(check: StoreServer['readiness']): Json<V1Probe> {
  if (typeof check === 'string') return { exec: { command: ['sh', '-c', check] } };
  if ('path' in check) return { httpGet: { path: check.path, port: 'store' } };
  return { tcpSocket: { port: 'store' } };
}
