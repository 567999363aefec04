import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { eventsPort } from '../contracts/event-exchange.ts';
import type { KubernetesSettings } from '../kube/connect.ts';

/** Where Kubernetes mounts the database's password. The file may be missing when the URL needs no password. */
const databasePasswordFile = '/var/run/svc/database/password';

const port = z.coerce.number().int().min(0).max(65_535);
const file = z.string().startsWith('/', 'must be an absolute path');
const address = (...protocols: string[]) =>
  z.string().refine(
    (text) => {
      const protocol = URL.parse(text)?.protocol;
      return protocol !== undefined && protocols.includes(protocol);
    },
    `must be a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
  );

/** The settings of every process. Port 0 selects a free port, for tests. */
const common = {
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  ADMIN_PORT: port.default(8081),
  POD_NAME: z.string().default('local'),
  POD_NAMESPACE: z.string().default('svc-system'),
  POD_IP: z.string().default('127.0.0.1'),
};
const http = { PORT: port.default(8080) };
const database = {
  DATABASE_URL: address('postgresql:', 'postgres:').default('postgresql://svc@svc-postgres.svc-system.svc:5432/svc'),
  DATABASE_PASSWORD_FILE: file.optional(),
};
const redis = {
  REDIS_URL: address('redis:', 'rediss:').default('redis://svc-redis.svc-system.svc:6379'),
  REDIS_PASSWORD_FILE: file.optional(),
};
/** Without a kubeconfig the process uses the service account of its pod. */
const kubernetes = {
  KUBECONFIG: z.string().optional(),
  KUBERNETES_SERVICE_HOST: z.string().optional(),
  KUBERNETES_SERVICE_PORT: z.string().default('443'),
  /** The folder of the service account's token. */
  SERVICE_ACCOUNT_FOLDER: z.string().default('/var/run/secrets/kubernetes.io/serviceaccount'),
};
/** JSON in the format of `parseKeyRing`. */
const encryptionKeys = { ENCRYPTION_KEYS_FILE: file };
/** The key that signs probes of gates; without it, they count as other requests. */
const gateProbe = { GATE_PROBE_KEY_FILE: file.optional() };
const failpoints = { SVC_FAILPOINTS_DIR: file.optional() };

/** Where alerts are read; without both there are none. */
const alertServers = {
  /** With `ring+http:` it is the embedded cluster's, which takes the token of this process's service account. */
  ALERTMANAGER_URL: address('http:', 'https:', 'ring+http:').optional(),
  /** Also where metrics are stored. `ring+http:` is the embedded cluster's, which is not Prometheus. */
  METRICS_STORE_URL: address('http:', 'https:', 'ring+http:').optional(),
};

type Environment = Readonly<Record<string, string | undefined>>;

const logStore = {
  /** The log store; without it, only pods that exist have logs, and there is no log drain. */
  LOG_STORE_URL: address('http:', 'https:').optional(),
  LOG_STORE_TOKEN_FILE: file.default('/var/run/svc/log-store/read-token'),
};

/** @throws Error that names each invalid variable, but not its value, which may be a secret */
function read<Shape extends z.ZodRawShape>(env: Environment, shape: Shape): z.output<z.ZodObject<Shape>> {
  const present = Object.fromEntries(
    Object.keys(shape)
      .map((name) => [name, env[name]] as const)
      // An empty variable counts as unset, because manifests cannot omit one conditionally.
      .filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = z.object(shape).safeParse(present);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(
    ({ path, message, code }) =>
      `${path.join('.')}: ${present[String(path[0])] === undefined && code === 'invalid_type' ? 'is required' : message}`,
  );
  throw new Error(`bad environment: ${problems.join('; ')}`);
}

function commonPart(env: z.output<z.ZodObject<typeof common>>) {
  return {
    log: Object.freeze({ level: env.LOG_LEVEL }),
    admin: Object.freeze({ port: env.ADMIN_PORT }),
    pod: Object.freeze({ name: env.POD_NAME, namespace: env.POD_NAMESPACE, ip: env.POD_IP }),
  };
}

function databasePart(env: z.output<z.ZodObject<typeof database>>): Readonly<{ url: string; passwordFile?: string }> {
  const passwordFile = env.DATABASE_PASSWORD_FILE ?? (existsSync(databasePasswordFile) ? databasePasswordFile : null);
  return Object.freeze({ url: env.DATABASE_URL, ...(passwordFile !== null && { passwordFile }) });
}

function redisPart(env: z.output<z.ZodObject<typeof redis>>): Readonly<{ url: string; passwordFile?: string }> {
  const passwordFile = env.REDIS_PASSWORD_FILE;
  return Object.freeze({ url: env.REDIS_URL, ...(passwordFile !== undefined && { passwordFile }) });
}

/** @throws Error without a kubeconfig and a service account */
function kubernetesPart(env: z.output<z.ZodObject<typeof kubernetes>>): KubernetesSettings {
  const { KUBECONFIG: kubeconfig, KUBERNETES_SERVICE_HOST: host } = env;
  if (kubeconfig !== undefined) return Object.freeze({ kubeconfig });
  if (host === undefined) throw new Error('KUBECONFIG is not set, and this is not a pod of a cluster');
  const account = { folder: env.SERVICE_ACCOUNT_FOLDER, host, port: env.KUBERNETES_SERVICE_PORT };
  return Object.freeze({ account: Object.freeze(account) });
}

function alertServersPart(
  env: z.output<z.ZodObject<typeof alertServers & Pick<typeof kubernetes, 'SERVICE_ACCOUNT_FOLDER'>>>,
) {
  const plain = (url: string | undefined) => url?.replace(/^ring\+/, '').replace(/(?<!\/)\/+$/, '');
  const isRing = (url: string | undefined) => url?.startsWith('ring+') ?? false;
  const { ALERTMANAGER_URL: alertmanager, METRICS_STORE_URL: metricsStore } = env;
  return Object.freeze({
    alertmanager: plain(alertmanager),
    metricsStore: isRing(metricsStore) ? undefined : plain(metricsStore),
    ...(isRing(alertmanager) && { tokenFile: join(env.SERVICE_ACCOUNT_FOLDER, 'token') }),
  });
}

function logStorePart({ LOG_STORE_URL: url, LOG_STORE_TOKEN_FILE: tokenFile }: z.output<z.ZodObject<typeof logStore>>) {
  return Object.freeze({ ...(url !== undefined && { url: url.replace(/(?<!\/)\/+$/, '') }), tokenFile });
}

function failpointsPart(env: z.output<z.ZodObject<typeof failpoints>>): Readonly<{ dir?: string }> {
  return Object.freeze({ ...(env.SVC_FAILPOINTS_DIR !== undefined && { dir: env.SVC_FAILPOINTS_DIR }) });
}

/**
 * Settings of console-api.
 * @throws Error that names each invalid variable
 */
export function loadConsoleConfig(env: Environment) {
  const parsed = read(env, {
    ...common,
    ...http,
    ...database,
    ...kubernetes,
    ...encryptionKeys,
    /** The port from which the sidecars of function pods fetch events. */
    EVENTS_PORT: port.default(eventsPort),
    ADMIN_EMAIL: z.string().min(3).max(320).default('admin@svc.local'),
    ADMIN_PASSWORD_FILE: file.optional(),
    /** The public address of the management API, for webhook and status URLs. */
    BASE_URL: address('http:', 'https:'),
    /** Maximum requests per second to one app's webhook, for each replica; CI sends far fewer. */
    WEBHOOK_RATE_PER_SECOND: z.coerce.number().positive().default(2),
    WEBHOOK_BURST: z.coerce.number().int().min(1).default(100),
    /** Minutes of silence after which exec and port-forward sessions are closed. */
    SESSION_IDLE_MINUTES: z.coerce.number().positive().max(1440).default(30),
    /** Where requests to functions are sent for users who invoke them. */
    INTERCEPTOR_URL: address('http:').default('http://svc-interceptor.svc-system.svc'),
    ...logStore,
    ...alertServers,
  });
  const passwordFile = parsed.ADMIN_PASSWORD_FILE;
  return Object.freeze({
    ...commonPart(parsed),
    http: Object.freeze({ port: parsed.PORT }),
    events: Object.freeze({ port: parsed.EVENTS_PORT }),
    database: databasePart(parsed),
    kubernetes: kubernetesPart(parsed),
    encryptionKeysFile: parsed.ENCRYPTION_KEYS_FILE,
    firstAdmin: Object.freeze({ email: parsed.ADMIN_EMAIL, ...(passwordFile !== undefined && { passwordFile }) }),
    /** Without a trailing slash. */
    baseUrl: parsed.BASE_URL.replace(/(?<!\/)\/+$/, ''),
    webhookRate: Object.freeze({ perSecond: parsed.WEBHOOK_RATE_PER_SECOND, burst: parsed.WEBHOOK_BURST }),
    metricsStore: Object.freeze({
      ...(parsed.METRICS_STORE_URL !== undefined && { url: parsed.METRICS_STORE_URL }),
      tokenFile: join(parsed.SERVICE_ACCOUNT_FOLDER, 'token'),
    }),
    sessionIdleMs: parsed.SESSION_IDLE_MINUTES * 60_000,
    interceptorUrl: parsed.INTERCEPTOR_URL,
    logStore: logStorePart(parsed),
    alertServers: alertServersPart(parsed),
  });
}

/**
 * Settings of svc-workers.
 * @throws Error that names each invalid variable
 */
export function loadWorkersConfig(env: Environment) {
  const parsed = read(env, {
    ...common,
    ...database,
    ...redis,
    ...kubernetes,
    ...encryptionKeys,
    ...failpoints,
    ...logStore,
    ...alertServers,
  });
  return Object.freeze({
    ...commonPart(parsed),
    database: databasePart(parsed),
    redis: redisPart(parsed),
    kubernetes: kubernetesPart(parsed),
    encryptionKeysFile: parsed.ENCRYPTION_KEYS_FILE,
    alertServers: alertServersPart(parsed),
    logStore: logStorePart(parsed),
    failpoints: failpointsPart(parsed),
    /** The environment for programs that connect to the Internet, with its proxies and certificates. */
    outgoing: Object.freeze({ ...env }),
  });
}

/**
 * Settings of svc-controllers.
 * @throws Error that names each invalid variable
 */
export function loadControllersConfig(env: Environment) {
  const parsed = read(env, { ...common, ...database, ...kubernetes, ...gateProbe, ...failpoints });
  return Object.freeze({
    ...commonPart(parsed),
    database: databasePart(parsed),
    kubernetes: kubernetesPart(parsed),
    gateProbeKeyFile: parsed.GATE_PROBE_KEY_FILE,
    failpoints: failpointsPart(parsed),
  });
}

/**
 * Settings of svc-authz.
 * @throws Error that names each invalid variable
 */
export function loadAuthzConfig(env: Environment) {
  const parsed = read(env, { ...common, ...http, ...database, ...gateProbe });
  return Object.freeze({
    ...commonPart(parsed),
    http: Object.freeze({ port: parsed.PORT }),
    database: databasePart(parsed),
    gateProbeKeyFile: parsed.GATE_PROBE_KEY_FILE,
  });
}

/**
 * Settings of svc-interceptor.
 * @throws Error that names each invalid variable
 */
export function loadInterceptorConfig(env: Environment) {
  const parsed = read(env, { ...common, ...http, ...kubernetes });
  return Object.freeze({
    ...commonPart(parsed),
    http: Object.freeze({ port: parsed.PORT }),
    kubernetes: kubernetesPart(parsed),
  });
}

/**
 * Settings of log-store.
 * @throws Error that names each invalid variable
 */
export function loadLogStoreConfig(env: Environment) {
  const parsed = read(env, {
    ...common,
    PORT: port.default(3100),
    LOG_STORE_FOLDER: file.default('/data'),
    /** Beyond it, the oldest lines of the namespace with the most are deleted. */
    LOG_STORE_MAX_BYTES: z.coerce.number().int().min(1_000_000).default(10_000_000_000),
    LOG_STORE_RETENTION_HOURS: z.coerce.number().int().min(1).max(8_760).default(72),
    LOG_STORE_APPEND_TOKEN_FILE: file.default('/var/run/svc/log-store/append-token'),
    LOG_STORE_READ_TOKEN_FILE: file.default('/var/run/svc/log-store/read-token'),
  });
  return Object.freeze({
    ...commonPart(parsed),
    http: Object.freeze({ port: parsed.PORT }),
    store: Object.freeze({
      folder: parsed.LOG_STORE_FOLDER,
      maxBytes: parsed.LOG_STORE_MAX_BYTES,
      retentionHours: parsed.LOG_STORE_RETENTION_HOURS,
    }),
    tokens: Object.freeze({
      appendFile: parsed.LOG_STORE_APPEND_TOKEN_FILE,
      readFile: parsed.LOG_STORE_READ_TOKEN_FILE,
    }),
  });
}

/**
 * Settings of the migration step.
 * @throws Error that names each invalid variable
 */
export function loadMigrateConfig(env: Environment) {
  const parsed = read(env, { LOG_LEVEL: common.LOG_LEVEL, ...database });
  return Object.freeze({ log: Object.freeze({ level: parsed.LOG_LEVEL }), database: databasePart(parsed) });
}
