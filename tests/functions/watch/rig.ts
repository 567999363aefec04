import type { Pool } from 'pg';
import { createAuthenticate } from '../../../functions/sessions/authenticate.ts';
import { createFeeds, type FeedsOptions } from '../../../functions/watch/feeds.ts';
import { createWatchRoutes, type WatchDependencies } from '../../../functions/watch/handler.ts';
import { createProjectAccess } from '../../../runtime/api/project-access.ts';
import type { WatchMessage } from '../../../runtime/contracts/api/watch.ts';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { newId, type Id } from '../../../runtime/domain/ids.ts';
import { workloadLabels } from '../../../runtime/domain/labels.ts';
import type { WorkloadKind } from '../../../runtime/domain/names.ts';
import type { Route } from '../../../runtime/http/route.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { testApi } from '../../support/api.ts';
import { createObjectCopies, type ObjectCopiesOptions } from '../../../runtime/kube/object-copies.ts';
import { silentLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';

interface Test {
  teardown(end: () => unknown): void;
}

/** A project with ready environments that have ids of their own. */
export interface TestProject {
  id: Id;
  name: string;
  /** Environment → its id. */
  environments: Record<string, Id>;
  object: KubeObject;
}

export function testProject(name: string, environments: string[] = ['prod']): TestProject {
  const id = newId();
  const specs = environments.map((environment) => ({ name: environment, id: newId() }));
  return {
    id,
    name,
    environments: Object.fromEntries(specs.map((spec) => [spec.name, spec.id])),
    object: {
      apiVersion: 'platform.svc/v1',
      kind: 'Project',
      metadata: { name, labels: { 'platform.svc/id': id } },
      spec: { environments: specs },
      status: {
        phase: 'ready',
        environments: specs.map((spec) => ({ ...spec, namespace: `${name}-${spec.name}`, ready: true })),
      },
    },
  };
}

/** An object of the platform in an environment. */
export function testObject(kind: WorkloadKind | 'Volume', name: string, namespace: string, id = newId()): KubeObject {
  const labels = kind === 'Volume' ? { 'platform.svc/id': id } : workloadLabels({ kind, name, id });
  const specs = {
    App: { image: 'r.test/api:1', port: 8080, replicas: 1 },
    Function: { runtime: 'node', code: 'x', trigger: 'http', port: 8080, idleTimeoutSeconds: 300 },
    Job: { image: 'r.test/job:1', retries: 0 },
    Service: { type: 'postgres', storage: { size: '1Gi' } },
    Volume: { size: '1Gi' },
  };
  return { apiVersion: 'platform.svc/v1', kind, metadata: { name, namespace, labels }, spec: specs[kind] };
}

/** Writes the record of a workload. */
export async function testWorkload(
  pool: Pool,
  project: TestProject,
  {
    kind = 'App',
    name,
    environment = 'prod',
  }: { kind?: 'App' | 'Function' | 'Job'; name: string; environment?: string },
): Promise<Id> {
  const id = newId();
  await projectWorkload(pool, {
    id,
    kind,
    environmentId: project.environments[environment] ?? '',
    project: project.name,
    environment,
    namespace: `${project.name}-${environment}`,
    name,
    gated: false,
  });
  return id;
}

/** An open stream. */
export interface TestStream {
  status: number;
  /** The body of a refusal. */
  refusal: { code?: string } | undefined;
  /** Every message so far. */
  readonly messages: WatchMessage[];
  /** Reads until a message matches. @throws Error when the stream ends before */
  until(matches: (message: WatchMessage) => boolean): Promise<WatchMessage>;
  /** Reads until the server ends the stream. */
  ended(): Promise<void>;
  close(): void;
}

export interface Replica {
  url: string;
  /** The route itself. */
  route: Route;
  open(headers: Record<string, string>, query?: string, project?: string): Promise<TestStream>;
}

/** PostgreSQL, and replicas of the API with the route. */
export async function watchRig(t: Test, kube: KubeClient) {
  const { pool } = await testDatabase(t);
  const clock = systemClock;
  const replica = async (
    options: Partial<FeedsOptions & WatchDependencies & { watched: ObjectCopiesOptions['kube'] }> = {},
  ): Promise<Replica> => {
    const copies = createObjectCopies({ kube: options.watched ?? kube, clock, log: silentLog });
    const feeds = createFeeds({ kube, copies, pool, clock, log: silentLog, ...options });
    const authenticate = createAuthenticate({ pool, clock, baseUrl: 'http://console.test' });
    const watchAccess = createProjectAccess({ kube, pool, findProject: (name) => feeds.findProject(name) });
    const { authorize } = watchAccess;
    const routes = createWatchRoutes({ kube, feeds, clock, authenticate, authorize, ...options });
    const api = await testApi(t, { routes, authenticate, authorize: createProjectAccess({ kube, pool }).authorize });
    const [route] = routes;
    if (!route) throw new Error('no route');
    t.teardown(async () => {
      await feeds.stop();
      await copies.stop();
    });
    return {
      url: api.url,
      route,
      open: (headers, query, project) => openStream(t, api.url, { headers, query, project }),
    };
  };
  return { pool, replica };
}

async function openStream(
  t: Test,
  url: string,
  {
    headers,
    query = '',
    project = 'shop',
  }: { headers: Record<string, string>; query?: string | undefined; project?: string | undefined },
): Promise<TestStream> {
  const closing = new AbortController();
  t.teardown(() => closing.abort());
  const response = await fetch(`${url}/api/v1/projects/${project}/watch${query}`, { headers, signal: closing.signal });
  const messages: WatchMessage[] = [];
  const refusal = response.ok ? undefined : ((await response.json()) as { code?: string });
  const reader = response.ok ? response.body?.pipeThrough(new TextDecoderStream()).getReader() : undefined;
  let rest = '';
  let position = 0;
  /** @returns false at the end */
  const read = async () => {
    // The server may also close the connection.
    const chunk = await reader?.read().catch(() => undefined);
    if (!chunk || chunk.done) return false;
    const parts = (rest + chunk.value).split('\n');
    rest = parts.pop() ?? '';
    messages.push(...parts.filter((part) => part !== '').map((part) => JSON.parse(part) as WatchMessage));
    return true;
  };
  return {
    status: response.status,
    refusal,
    messages,
    async until(matches) {
      for (;;) {
        for (; position < messages.length;) {
          const message = messages[position++];
          if (message && matches(message)) return message;
        }
        if (!(await read())) throw new Error(`the stream ended: ${JSON.stringify(messages)}`);
      }
    },
    async ended() {
      while (await read());
    },
    close: () => closing.abort(),
  };
}

/** Whether a message is about a kind, and an object. */
export function about(kind: string, name?: string): (message: WatchMessage) => boolean {
  return (message) => 'kind' in message && message.kind === kind && (name === undefined || message.name === name);
}
