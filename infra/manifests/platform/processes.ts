import { eventsPort } from '../../../runtime/contracts/event-exchange.ts';
import { publicUrl } from '../../../runtime/contracts/resources/platform-config.ts';
import { trustedProxyArguments } from '../../../runtime/domain/trusted-proxies.ts';
import { probePace, type ProbePace } from './pod.ts';
import { secretFile, type SecretName } from './secrets.ts';
import { alertmanagerUrl } from '../monitoring/alertmanager.ts';
import { logStoreUrl } from './log-store-secrets.ts';
import { consoleHost, hasComponents, metricsStoreUrl, type PlatformSettings } from './settings.ts';

/** The platform's processes. Each has a Deployment object, a ServiceAccount and rights of the same name. */
export const processNames = ['console-api', 'svc-workers', 'svc-controllers', 'svc-authz', 'svc-interceptor'] as const;

export type ProcessName = (typeof processNames)[number];

/** Processes that use the client's address, and so get the trusted proxies as arguments. */
export const proxyAwareProcesses = ['console-api', 'svc-authz'] as const satisfies readonly ProcessName[];

/** How one process is run. */
export interface PlatformProcess {
  name: ProcessName;
  main: string;
  /** Options of Node.js. */
  options?: readonly string[];
  /** Arguments of `main`. */
  args?: readonly string[];
  replicas: number;
  /** Whether it uses the Kubernetes API. If not, its pods get no token. */
  kubernetes: boolean;
  /** Whether it serves on port 8080, behind a Service with its name. */
  serves: boolean;
  /** Whether its Service prefers the pod on the client's node. Default: all pods are equal. */
  nearest?: boolean;
  /** Further ports by name. */
  ports?: Readonly<Record<string, number>>;
  secrets: readonly SecretName[];
  env: Readonly<Record<string, string>>;
  /** A program that runs to completion before the process starts, with the same environment. */
  before?: { name: string; main: string };
  /**
   * CPU request, memory request and memory limit. Kubernetes divides busy processors by the CPU requests: what requests to
   * apps and functions wait for has twice that of the API, and the API twice that of work in the background
   * (docs/decisions/0104-cpu-requests.md).
   */
  size: { cpu: string; memory: string; memoryLimit: string };
  probes: ProbePace;
  /** The folder of failpoints, for tests. */
  failpoints?: string;
}

const database = { DATABASE_PASSWORD_FILE: secretFile('database') };
const redis = { REDIS_PASSWORD_FILE: secretFile('redis') };
const gateProbe = { GATE_PROBE_KEY_FILE: secretFile('gateProbe') };
const failpointsDirectory = '/failpoints';

/**
 * Keeps svc-authz below 180 MB with 100,000 keys. By default, Node and the C library size their space for short-lived
 * objects by the machine, up to a hundred megabytes, and everything that a verdict allocates is short-lived. The process
 * asks for one collection itself, after its first load.
 *
 * Its thread marks old objects itself, in steps of a tenth of a millisecond: V8's own threads for it took the core of a
 * checker that has one for ten milliseconds at a time. And no object begins among the old ones: Node's entries of the next
 * tick did, once a few of them had become old, and made V8 collect all of them every second
 * (docs/explanation/performance.md#gate).
 */
export const authzRuntime = {
  options: ['--no-concurrent-marking', '--no-allocation-site-pretenuring', '--max-semi-space-size=4', '--expose-gc'],
  env: { MALLOC_ARENA_MAX: '1' },
} as const;

/**
 * How console-api runs. What strangers make it read, such as hundreds of unfinished bodies, is garbage at once: with the
 * default of 16 MiB for young objects, much more of it waits to be collected, near the memory limit.
 */
export const consoleRuntime = { options: ['--max-semi-space-size=4'] } as const;

/** The processes of an installation. Defaults of variables are in `runtime/process/config.ts`. */
export function platformProcesses(settings: PlatformSettings): Record<ProcessName, PlatformProcess> {
  const serverReplicas = settings.optional.profile === 'nano' ? 1 : 2;
  // Without a checker every gated route is closed, so that a cluster has two whatever its size.
  const checkerReplicas = settings.oneChecker ? 1 : 2;
  const probes = probePace(settings.optional.profile);
  // The embedded cluster's ring of metrics evaluates its alerts, too.
  const { metricsStoreUrl: metricsUrl = metricsStoreUrl } = settings;
  const alertsUrl = metricsUrl.startsWith('ring+') ? metricsUrl : alertmanagerUrl;
  const readUrl = settings.logStoreUrl ?? (hasComponents(settings) ? logStoreUrl : undefined);
  const logStore = readUrl !== undefined && { LOG_STORE_URL: readUrl, LOG_STORE_TOKEN_FILE: secretFile('logStore') };
  const proxyArguments = trustedProxyArguments(settings.optional.trustedProxies ?? []);
  return {
    'console-api': {
      name: 'console-api',
      main: 'functions/main.ts',
      options: consoleRuntime.options,
      args: proxyArguments,
      replicas: serverReplicas,
      kubernetes: true,
      serves: true,
      ports: { events: eventsPort },
      secrets: ['database', 'encryptionKeys', 'admin', 'logStore'],
      env: {
        ...database,
        ENCRYPTION_KEYS_FILE: secretFile('encryptionKeys'),
        ADMIN_EMAIL: settings.adminEmail,
        ADMIN_PASSWORD_FILE: secretFile('admin'),
        ALERTMANAGER_URL: alertsUrl,
        METRICS_STORE_URL: metricsUrl,
        ...logStore,
        BASE_URL: publicUrl(settings, consoleHost(settings)),
      },
      before: { name: 'migrate', main: 'runtime/db/main.ts' },
      size: { cpu: '50m', memory: '128Mi', memoryLimit: '512Mi' },
      probes,
    },
    'svc-workers': {
      name: 'svc-workers',
      main: 'workers/main.ts',
      replicas: 1,
      kubernetes: true,
      serves: false,
      secrets: ['database', 'redis', 'encryptionKeys', 'logStore'],
      env: {
        ...database,
        ...redis,
        ENCRYPTION_KEYS_FILE: secretFile('encryptionKeys'),
        ALERTMANAGER_URL: alertsUrl,
        ...logStore,
        // Half of the threads resolve names, of which tenants' take four (runtime/process/name-lookup.ts).
        UV_THREADPOOL_SIZE: '16',
      },
      // Also for its client processes (decision 0037) and the git that polls sources, which have limits of their own.
      size: { cpu: '25m', memory: '128Mi', memoryLimit: '1536Mi' },
      probes,
      ...(settings.failpoints && { failpoints: failpointsDirectory }),
    },
    'svc-controllers': {
      name: 'svc-controllers',
      main: 'workers/controllers/main.ts',
      replicas: 1,
      kubernetes: true,
      serves: false,
      secrets: ['database', 'gateProbe'],
      env: { ...database, ...gateProbe },
      size: { cpu: '25m', memory: '128Mi', memoryLimit: '512Mi' },
      probes,
    },
    'svc-authz': {
      name: 'svc-authz',
      main: 'gate/authz/main.ts',
      options: authzRuntime.options,
      args: proxyArguments,
      replicas: checkerReplicas,
      kubernetes: false,
      serves: true,
      // Traefik waits 30 s for a verdict and tries no other checker, so one on a lost node would delay half of the requests
      // for as long as Kubernetes takes to notice. A checker on Traefik's own node is lost only together with it.
      nearest: true,
      secrets: ['database', 'gateProbe'],
      env: { ...database, ...gateProbe, ...authzRuntime.env },
      // V8 takes half of it for objects. 1 GiB is enough for a million keys (docs/reference/limits.md#keys-in-memory).
      size: { cpu: '100m', memory: '128Mi', memoryLimit: settings.optional.profile === 'nano' ? '512Mi' : '1Gi' },
      // Every request to a gated app waits for a checker that hangs, until a probe removes it.
      probes: probePace(undefined),
    },
    'svc-interceptor': {
      name: 'svc-interceptor',
      main: 'gate/interceptor/main.ts',
      replicas: serverReplicas,
      kubernetes: true,
      serves: true,
      secrets: [],
      env: {},
      size: { cpu: '100m', memory: '128Mi', memoryLimit: '512Mi' },
      probes,
    },
  };
}
