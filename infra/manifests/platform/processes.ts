import { eventsPort } from '../../../runtime/contracts/event-exchange.ts';
import { publicUrl } from '../../../runtime/contracts/resources/platform-config.ts';
import { trustedProxyArguments } from '../../../runtime/domain/trusted-proxies.ts';
import { probePace, type ProbePace } from './pod.ts';
import { secretFile, type SecretName } from './secrets.ts';
import { consoleHost, type PlatformSettings } from './settings.ts';

/** The platform's processes: each is a Deployment, a ServiceAccount and a set of rights of the same name. */
export const processNames = ['console-api', 'svc-workers', 'svc-controllers', 'svc-authz', 'svc-interceptor'] as const;

export type ProcessName = (typeof processNames)[number];

/** Those that judge by the client's address, and so are told the trusted proxies as arguments. */
export const proxyAwareProcesses = ['console-api', 'svc-authz'] as const satisfies readonly ProcessName[];

/** What one process is started with. */
export interface PlatformProcess {
  name: ProcessName;
  main: string;
  /** Arguments of `main`. */
  args?: readonly string[];
  replicas: number;
  /** Whether it speaks to the API server; without, its pods carry no token. */
  kubernetes: boolean;
  /** Whether it serves on port 8080, behind a Service of its name. */
  serves: boolean;
  /** Further ports, each by its name. */
  ports?: Readonly<Record<string, number>>;
  secrets: readonly SecretName[];
  env: Readonly<Record<string, string>>;
  /** Runs to its end before the process starts, with the same environment. */
  before?: { name: string; main: string };
  /** Requests and limit of memory, and requests of CPU. */
  size: { cpu: string; memory: string; memoryLimit: string };
  probes: ProbePace;
  /** The directory of failpoints, for tests. */
  failpoints?: string;
}

const database = { DATABASE_PASSWORD_FILE: secretFile('database') };
const redis = { REDIS_PASSWORD_FILE: secretFile('redis') };
const failpointsDirectory = '/failpoints';

/**
 * Keeps svc-authz below 200 MB with 100,000 keys. Left to themselves, Node and the C library size their room for what is
 * short-lived by the machine, a hundred megabytes on a large one; all that a verdict allocates is garbage at its end.
 */
export const authzMemory: Readonly<Record<string, string>> = {
  NODE_OPTIONS: '--max-semi-space-size=8',
  MALLOC_ARENA_MAX: '1',
};

/** The processes of an installation. What an environment leaves out has its default in `runtime/host/config.ts`. */
export function platformProcesses(settings: PlatformSettings): Record<ProcessName, PlatformProcess> {
  const served = settings.others.profile === 'nano' ? 1 : 2;
  const probes = probePace(settings.others.profile);
  const proxyArguments = trustedProxyArguments(settings.others.trustedProxies ?? []);
  return {
    'console-api': {
      name: 'console-api',
      main: 'functions/main.ts',
      args: proxyArguments,
      replicas: 1,
      kubernetes: true,
      serves: true,
      ports: { events: eventsPort },
      secrets: ['database', 'encryptionKeys', 'admin'],
      env: {
        ...database,
        ENCRYPTION_KEYS_FILE: secretFile('encryptionKeys'),
        ADMIN_EMAIL: settings.adminEmail,
        ADMIN_PASSWORD_FILE: secretFile('admin'),
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
      secrets: ['database', 'redis', 'encryptionKeys'],
      env: { ...database, ...redis, ENCRYPTION_KEYS_FILE: secretFile('encryptionKeys') },
      size: { cpu: '50m', memory: '128Mi', memoryLimit: '512Mi' },
      probes,
      ...(settings.failpoints && { failpoints: failpointsDirectory }),
    },
    'svc-controllers': {
      name: 'svc-controllers',
      main: 'workers/controllers/main.ts',
      replicas: 1,
      kubernetes: true,
      serves: false,
      secrets: ['database'],
      env: database,
      size: { cpu: '50m', memory: '128Mi', memoryLimit: '512Mi' },
      probes,
    },
    'svc-authz': {
      name: 'svc-authz',
      main: 'gate/authz/main.ts',
      args: proxyArguments,
      replicas: served,
      kubernetes: false,
      serves: true,
      secrets: ['database'],
      env: { ...database, ...authzMemory },
      size: { cpu: '50m', memory: '128Mi', memoryLimit: '512Mi' },
      probes,
    },
    'svc-interceptor': {
      name: 'svc-interceptor',
      main: 'gate/interceptor/main.ts',
      replicas: served,
      kubernetes: true,
      serves: true,
      secrets: [],
      env: {},
      size: { cpu: '50m', memory: '128Mi', memoryLimit: '512Mi' },
      probes,
    },
  };
}
