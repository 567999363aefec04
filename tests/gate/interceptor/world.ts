import { once } from 'node:events';
import { Agent, createServer, request as httpRequest, type IncomingMessage, type RequestListener } from 'node:http';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Registry } from 'prom-client';
import { createActivator } from '../../../gate/interceptor/activator.ts';
import { createActivity } from '../../../gate/interceptor/activity.ts';
import { createEndpoints } from '../../../gate/interceptor/endpoints.ts';
import { createInterceptor } from '../../../gate/interceptor/interceptor.ts';
import { createInterceptorMetrics } from '../../../gate/interceptor/metrics.ts';
import type { ObjectSource } from '../../../gate/interceptor/object-source.ts';
import { connectProbe } from '../../../gate/interceptor/probe.ts';
import { createProxyServer } from '../../../gate/interceptor/proxy-server.ts';
import { createRoutes } from '../../../gate/interceptor/routes.ts';
import { createRequestQueue } from '../../../gate/interceptor/request-queue.ts';
import type { KubeObject, Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import type { FunctionResource } from '../../../runtime/contracts/resources/function.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { podLabels, workloadLabels } from '../../../runtime/domain/labels.ts';
import { KubeError, type Scale } from '../../../runtime/kube/kube-client.ts';
import type { Denial } from '../../../runtime/process/denial.ts';
import { freePort } from '../../support/servers.ts';
import { silentLog } from '../../support/log.ts';

interface Teardown {
  teardown(end: () => unknown): void;
}

/** Objects that a test adds and removes; listeners are called at once, as an informer does. */
export interface TestSource<T extends KubeObject> extends ObjectSource<T> {
  put(object: Stored<T>): void;
  remove(uid: string): void;
}

export function testSource<T extends KubeObject>(): TestSource<T> {
  const objects = new Map<string, Stored<T>>();
  const listeners = new Set<Parameters<ObjectSource<T>['onChange']>[0]>();
  return {
    list: () => [...objects.values()],
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    put(object) {
      const previous = objects.get(object.metadata.uid);
      objects.set(object.metadata.uid, object);
      for (const listener of listeners) listener({ type: previous ? 'modified' : 'added', object });
    },
    remove(uid) {
      const object = objects.get(uid);
      objects.delete(uid);
      if (object) for (const listener of listeners) listener({ type: 'deleted', object });
    },
  };
}

/** The scale subresource of one Deployment, with its version check. */
export function testScale(replicas = 0) {
  let version = 1;
  const writes: number[] = [];
  const scale = {
    replicas,
    writes,
    /** Makes reads fail, as with an unreachable API server. */
    broken: false,
    onWrite: (_replicas: number): void => undefined,
    getScale: (namespace: string, name: string): Promise<Scale> =>
      scale.broken
        ? Promise.reject(new Error('connect ECONNREFUSED'))
        : Promise.resolve({
            namespace,
            name,
            resourceVersion: String(version),
            replicas: scale.replicas,
            currentReplicas: 0,
          }),
    async replaceScale(read: Scale, newReplicas: number): Promise<void> {
      await new Promise((resolve) => setImmediate(resolve));
      if (read.resourceVersion !== String(version)) throw new KubeError(409, 'Conflict', 'the object was modified');
      version++;
      scale.replicas = newReplicas;
      writes.push(newReplicas);
      scale.onWrite(newReplicas);
    },
  };
  return scale;
}

export const functionId = '0190a0a0-0000-7000-8000-000000000001';
export const host = 'fn-hello--test.apps.test';

/** The scaler's input when no function has a data source. */
export const noEvents = { eventLoads: () => Promise.resolve(new Map()), onSourceChange: () => undefined };

export function helloFunction(): Stored<FunctionResource> {
  return {
    apiVersion: 'platform.svc/v1',
    kind: 'Function',
    metadata: {
      name: 'hello',
      namespace: 'shop-prod',
      uid: 'function-uid',
      resourceVersion: '1',
      labels: workloadLabels({ kind: 'Function', name: 'hello', id: functionId }),
    },
    spec: { runtime: 'node', code: 'x', trigger: 'http', port: 8080, idleTimeoutSeconds: 300 },
    status: { host },
  };
}

export function helloPod(uid: string, port: number, status: Pod['status'] = {}): Stored<Pod> {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: uid,
      namespace: 'shop-prod',
      uid,
      resourceVersion: '1',
      labels: podLabels({ kind: 'Function', name: 'hello', id: functionId }, 'serve'),
    },
    spec: { containers: [{ name: 'function', ports: [{ containerPort: port }] }] },
    status,
  };
}

export interface WorldOptions {
  replicas?: number;
  holdMs?: number;
  queueMax?: number;
  drainMs?: number;
  halfCloseMs?: number;
}

export interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  rawHeaders: string[];
  body: string;
}

/** One function `hello`, its pods as real servers on loopback, and interceptors in front of them. */
export function createWorld(t: Teardown, options: WorldOptions = {}) {
  const functions = testSource<FunctionResource>();
  const pods = testSource<Pod>();
  const scale = testScale(options.replicas ?? 0);
  const agent = new Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  functions.put(helloFunction());
  let created = 0;

  /** A pod that serves: its object appears without an address, then with one, then its server listens. */
  const startPod = async (
    listener: RequestListener,
    onUpgrade?: (request: IncomingMessage, socket: Duplex) => void,
  ): Promise<{ uid: string; kill(): Promise<void>; terminate(): void; port: number }> => {
    const uid = `pod-${created++}`;
    const port = await freePort();
    const server = createServer(listener);
    const upgraded = new Set<Duplex>();
    if (onUpgrade) {
      server.on('upgrade', (request, socket) => {
        upgraded.add(socket.on('error', () => undefined));
        onUpgrade(request, socket);
      });
    }
    pods.put(helloPod(uid, port));
    pods.put(helloPod(uid, port, { podIP: '127.0.0.1' }));
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const kill = async () => {
      if (!server.listening) return;
      server.close();
      server.closeAllConnections();
      for (const socket of upgraded) socket.destroy();
      await once(server, 'close');
    };
    t.teardown(kill);
    return {
      uid,
      port,
      kill,
      terminate: () => {
        const pod = helloPod(uid, port, { podIP: '127.0.0.1' });
        pod.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
        pods.put(pod);
      },
    };
  };

  const startInterceptor = async () => {
    const holdMs = options.holdMs ?? 20_000;
    const base = { clock: systemClock, log: silentLog };
    const routes = createRoutes(functions);
    const endpoints = createEndpoints({ pods, probe: connectProbe, ...base });
    const activator = createActivator({ kube: scale, endpoints, holdMs, queueMax: options.queueMax ?? 1_000, ...base });
    const queue = createRequestQueue({ endpoints, holdMs, queueMax: options.queueMax ?? 1_000, clock: systemClock });
    const activity = createActivity(systemClock);
    const registry = new Registry();
    const metrics = createInterceptorMetrics(registry, {
      inflight: () => activity.inflight(),
      waiting: () => activator.waiting(),
    });
    const denials: Denial[] = [];
    const interceptor = createInterceptor({
      replica: 'interceptor-0',
      routes,
      endpoints,
      activator,
      queue,
      activity,
      metrics,
      denials: { record: (denial) => denials.push(denial) },
      holdMs,
      ...base,
    });
    const server = createProxyServer({
      interceptor,
      clock: systemClock,
      port: 0,
      host: '127.0.0.1',
      lingerMs: 0,
      drainMs: options.drainMs ?? 0,
      halfCloseMs: options.halfCloseMs ?? 50,
    });
    routes.start();
    endpoints.start();
    activator.start();
    queue.start();
    const port = await server.start();
    t.teardown(async () => {
      await server.stop();
      queue.stop();
      activator.stop();
      endpoints.stop();
      routes.stop();
    });
    return { port, server, interceptor, activity, activator, queue, endpoints, registry, metrics, denials };
  };

  /** The raw client request; headers may be given raw, with repeats. */
  const open = (
    port: number,
    init: { method?: string; path?: string; headers?: Record<string, string | string[]> } = {},
  ) =>
    httpRequest({
      agent,
      host: '127.0.0.1',
      port,
      path: init.path ?? '/',
      method: init.method ?? 'GET',
      headers: { host, ...init.headers },
    });

  const ask = async (
    port: number,
    init: { method?: string; path?: string; headers?: Record<string, string | string[]>; body?: string } = {},
  ): Promise<Answer> => {
    const request = open(port, init);
    request.end(init.body);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      rawHeaders: response.rawHeaders,
      body: await text(response),
    };
  };

  return { functions, pods, scale, startPod, startInterceptor, open, ask };
}

/** Checks a condition at every turn of the event loop until it holds; tap's time-out is the limit. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 2));
}
