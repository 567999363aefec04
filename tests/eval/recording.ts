import type { AppView, DeploymentView } from '../../runtime/contracts/api/apps.ts';
import type { DeadLetterView, FunctionView } from '../../runtime/contracts/api/functions.ts';
import type { JobView } from '../../runtime/contracts/api/jobs.ts';
import type { KeyView } from '../../runtime/contracts/api/keys.ts';
import type { ServiceView } from '../../runtime/contracts/api/services.ts';

/** What a platform answered, by the path below `/api/v1`. Whatever is not recorded does not exist. */
export type Recording = Readonly<Record<string, unknown>>;

interface Parts {
  apps?: readonly object[];
  functions?: readonly object[];
  jobs?: readonly object[];
  services?: readonly object[];
  deployments?: readonly DeploymentView[];
  /** Further answers, by the path below the project. */
  more?: Readonly<Record<string, unknown>>;
}

const epoch = Date.parse('2026-11-24T10:00:00Z');

/** A time, in minutes after the first one. */
export function at(minutes: number): string {
  return new Date(epoch + minutes * 60_000).toISOString();
}

/** The id of an object. */
export function idOf(number: number): string {
  return `019a0000-0000-7000-8000-${String(number).padStart(12, '0')}`;
}

const own = { project: 'shop', environment: 'prod', createdAt: at(-10_000) };

export function app(change: Partial<AppView> = {}): AppView {
  return {
    ...own,
    id: idOf(100),
    name: 'api',
    image: 'registry.example.com/shop/api:41',
    port: 8080,
    replicas: 2,
    readyReplicas: 2,
    status: 'running',
    url: 'https://api.apps.example.com',
    volumes: [],
    autoRollback: true,
    extraHosts: [],
    security: { headers: true, csp: null },
    env: {},
    gate: 'off',
    ...change,
  };
}

export function fn(change: Partial<FunctionView> = {}): FunctionView {
  return {
    ...own,
    id: idOf(200),
    name: 'import',
    runtime: 'node',
    trigger: 'http',
    status: 'idle',
    port: 8080,
    replicas: 0,
    readyReplicas: 0,
    idleTimeoutSeconds: 300,
    concurrency: 100,
    targetRate: 200,
    requestTimeoutSeconds: 300,
    minReplicas: 0,
    maxReplicas: 10,
    env: {},
    volumes: [],
    ...change,
  };
}

export function job(change: Partial<JobView> = {}): JobView {
  return {
    ...own,
    id: idOf(300),
    name: 'report',
    image: 'registry.example.com/shop/report:12',
    env: {},
    volumes: [],
    schedule: '0 2 * * *',
    scheduleDescription: 'At 02:00 AM',
    timeZone: 'Etc/UTC',
    overlap: 'Forbid',
    suspended: false,
    retries: 0,
    historyLimit: 5,
    status: 'scheduled',
    ...change,
  };
}

export function service(change: Partial<ServiceView> = {}): ServiceView {
  return {
    ...own,
    id: idOf(400),
    name: 'orders',
    type: 'postgres',
    external: false,
    status: 'ready',
    host: 'orders',
    port: 5432,
    tls: false,
    size: '5Gi',
    ...change,
  };
}

export function deployment(change: Partial<DeploymentView> = {}): DeploymentView {
  return {
    id: idOf(7),
    app: 'api',
    environment: 'prod',
    revision: 7,
    image: 'registry.example.com/shop/api:42',
    commit: '4c0ffee1d2',
    commitMessage: 'Read the port from the environment',
    commitAuthor: 'Dana',
    branch: 'main',
    trigger: 'webhook',
    status: 'failed',
    current: false,
    acceptedAt: at(0),
    startedAt: at(1),
    endedAt: at(2),
    ...change,
  };
}

/** The successful deployment before {@link deployment}. */
export const previous = deployment({
  id: idOf(6),
  revision: 6,
  image: 'registry.example.com/shop/api:41',
  commit: 'ab12cd34ef',
  commitMessage: 'Add the price to the list',
  status: 'succeeded',
  current: true,
  acceptedAt: at(-1_500),
  startedAt: at(-1_499),
  endedAt: at(-1_498),
});

export function key(change: Partial<KeyView> = {}): KeyView {
  return {
    id: idOf(500),
    handle: 'k3x9q2ab',
    name: 'partner',
    environment: 'prod',
    plan: 'basic',
    enabled: true,
    usage: { allowed: 1_000, rateDenied: 0, quotaDenied: 0, lastSeen: '2026-11-24' },
    createdAt: at(-9_000),
    createdBy: 'dana@example.com',
    ...change,
  };
}

export function deadLetter(number: number, lastError: string, change: Partial<DeadLetterView> = {}): DeadLetterView {
  return {
    id: String(number),
    event: `order-${number}`,
    foundAt: at(-30),
    failures: 8,
    lastError,
    deadAt: at(-5),
    payload: '{"card":"4111 1111 1111 1111"}',
    ...change,
  };
}

/** One line of a log, a second after the one before. */
export function lines(pod: string, ...texts: string[]): { items: object[]; store: 'ok' } {
  const items = texts.map((line, second) => ({ pod, time: new Date(epoch + second * 1_000).toISOString(), line }));
  return { items, store: 'ok' };
}

/** A list of one page. */
export function list(...items: object[]): { items: object[] } {
  return { items };
}

const limits = { cpu: '8', memory: '16Gi', storage: '50Gi', pods: 40, containerMemory: '512Mi' };
const production = { name: 'prod', namespace: 'shop-prod', ready: true, limits };

/** The recorded answers of a project `shop` with these objects. */
export function recording({ apps = [app()], functions = [], jobs = [], services = [], ...rest }: Parts): Recording {
  const { deployments = [], more = {} } = rest;
  const project = {
    name: 'shop',
    status: 'ready',
    environments: [production],
    role: 'deployer',
    createdAt: at(-20_000),
  };
  const below: Record<string, unknown> = {
    '/environments': list(production),
    '/deployments': list(...deployments),
    '/plans': list(),
    '/api-keys': list(),
    '/volumes': list(),
    '/images': list(),
    '/builds': list(),
  };
  for (const [collection, items] of Object.entries({ apps, functions, jobs, services })) {
    below[`/${collection}`] = list(...items);
    for (const item of items) below[`/${collection}/${(item as { name: string }).name}`] = item;
  }
  for (const item of deployments) {
    below[`/deployments/${item.id}`] = item;
    const history = deployments.filter((each) => each.app === item.app);
    below[`/apps/${item.app}/history`] = list(...history);
  }
  const answers = Object.entries({ ...below, ...more }).map(([path, body]) => [`/projects/shop${path}`, body]);
  return { '/projects': list(project), '/projects/shop': project, ...Object.fromEntries(answers) };
}
