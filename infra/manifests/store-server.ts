import type { ServerType } from '../../runtime/contracts/resources/platform-config.ts';
import { containerSecurity, podSecurity, resources, type VolumeMount } from './platform/pod.ts';

/** What the images of servers that keep data (infra/images) differ in. */
export interface StoreServer {
  port: number;
  /** The variable that names the file with the password. */
  passwordFile: string;
  /** Where the image keeps its data. */
  dataPath: string;
  /** Paths beside the data that the program writes. */
  scratch: readonly string[];
  /** What the image is told beside that. */
  env?: Readonly<Record<string, string>>;
  /**
   * Tells that the server answers queries, which is later than when it accepts connections: a shell's command that
   * succeeds, a path that answers 200, or listening alone where it accepts none before it answers.
   */
  answers: string | { path: string } | { listening: true };
  memory: { request: string; limit: string };
}

/** The servers that there are images of; each lets in one user with all rights, `svc`, and Redis everybody with the password. */
export const storeServers = {
  postgres: {
    port: 5432,
    passwordFile: 'POSTGRES_PASSWORD_FILE',
    dataPath: '/var/lib/svc/postgres',
    scratch: ['/tmp', '/run'],
    answers:
      'PATH="$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)"; exec pg_isready -q -h 127.0.0.1 -p "${PORT:-5432}" -U svc -d svc',
    memory: { request: '128Mi', limit: '1Gi' },
  },
  redis: {
    port: 6379,
    passwordFile: 'REDIS_PASSWORD_FILE',
    dataPath: '/var/lib/svc/redis',
    scratch: ['/tmp'],
    answers: 'REDISCLI_AUTH="$(cat "$REDIS_PASSWORD_FILE")" redis-cli -p "${PORT:-6379}" ping | grep -q PONG',
    memory: { request: '64Mi', limit: '512Mi' },
  },
  mysql: {
    port: 3306,
    passwordFile: 'MARIADB_PASSWORD_FILE',
    dataPath: '/var/lib/svc/mariadb',
    scratch: ['/tmp', '/run'],
    answers:
      'MYSQL_PWD="$(cat "$MARIADB_PASSWORD_FILE")" exec mariadb-admin --no-defaults --protocol=tcp -h 127.0.0.1 -P "${PORT:-3306}" -u svc --silent ping',
    memory: { request: '128Mi', limit: '1Gi' },
  },
  minio: {
    port: 9000,
    passwordFile: 'MINIO_ROOT_PASSWORD_FILE',
    dataPath: '/var/lib/svc/minio',
    scratch: ['/tmp'],
    // https://min.io/docs/minio/linux/operations/monitoring/healthcheck-probe.html
    answers: { path: '/minio/health/cluster' },
    memory: { request: '256Mi', limit: '1Gi' },
  },
  // Told what MongoDB's own image is told, which can so be given in place of FerretDB's. Both listen to others only once
  // their user is made, and FerretDB has no client to ask with.
  mongodb: {
    port: 27_017,
    passwordFile: 'MONGO_INITDB_ROOT_PASSWORD_FILE',
    // The client in MongoDB's image writes into its home.
    env: { MONGO_INITDB_ROOT_USERNAME: 'svc', HOME: '/tmp' },
    dataPath: '/data/db',
    scratch: ['/tmp'],
    answers: { listening: true },
    memory: { request: '128Mi', limit: '1Gi' },
  },
} as const satisfies Record<ServerType, StoreServer>;

export interface StorePodInput {
  server: StoreServer;
  /** Of the container. */
  name: string;
  image: string;
  /** The file with the password, in one of `mounts`. */
  passwordFile: string;
  /** Beside the data, which is the volume `data`, and what the server writes elsewhere. */
  mounts: readonly VolumeMount[];
  volumes: readonly object[];
  /** Seconds between two looks whether it answers. */
  readySeconds: number;
  serviceAccountName?: string;
  /** Variables beside the server's own. */
  env?: Readonly<Record<string, string>>;
}

/** The spec of a pod that runs a server; the volume `data` comes from its StatefulSet. Pure. */
export function storePod(input: StorePodInput): Record<string, unknown> {
  const { server, name, image, passwordFile, mounts, volumes, readySeconds, serviceAccountName, env = {} } = input;
  const scratch: VolumeMount[] = server.scratch.map((mountPath) => ({ name: mountPath.slice(1), mountPath }));
  return {
    ...(serviceAccountName !== undefined && { serviceAccountName }),
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    // A store that is killed while it writes has to recover at its next start.
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
        // The first start makes the database cluster, which takes its time on a slow disk.
        startupProbe: { tcpSocket: { port: 'store' }, periodSeconds: 1, failureThreshold: 120 },
        livenessProbe: { tcpSocket: { port: 'store' }, periodSeconds: 20, timeoutSeconds: 5, failureThreshold: 3 },
        readinessProbe: {
          ...readiness(server.answers),
          periodSeconds: readySeconds,
          timeoutSeconds: 3,
        },
        securityContext: containerSecurity,
        resources: resources({ cpu: '50m', memory: server.memory.request }, server.memory.limit),
        volumeMounts: [{ name: 'data', mountPath: server.dataPath }, ...scratch, ...mounts],
      },
    ],
    volumes: [...scratch.map(({ name: volume }) => ({ name: volume, emptyDir: {} })), ...volumes],
  };
}

function readiness(answers: StoreServer['answers']): object {
  if (typeof answers === 'string') return { exec: { command: ['sh', '-c', answers] } };
  if ('path' in answers) return { httpGet: { path: answers.path, port: 'store' } };
  return { tcpSocket: { port: 'store' } };
}
