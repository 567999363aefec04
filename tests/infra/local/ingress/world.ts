import { once } from 'node:events';
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
} from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { serviceNameLabel } from '../../../../infra/local/controllers/objects.ts';
import { createIngress, type IngressOptions } from '../../../../infra/local/ingress/ingress.ts';
import { appRoute, type AppRouteInput } from '../../../../infra/manifests/app-route.ts';
import { ingressRoute, routeGate, routeSecurity, sharedObjects } from '../../../../infra/manifests/workload-route.ts';
import type { KubeObject, Stored } from '../../../../runtime/contracts/kubernetes.ts';
import { kinds, type ResourceKind } from '../../../../runtime/contracts/resources/kinds.ts';
import { systemClock } from '../../../../runtime/domain/clock.ts';
import type { Id } from '../../../../runtime/domain/ids.ts';
import { systemNamespace } from '../../../../runtime/domain/labels.ts';
import { createInformers } from '../../../../runtime/kube/informers.ts';
import { fakeKube } from '../../../support/fake-kube.ts';
import { recordingLog } from '../../../support/log.ts';

export interface Test {
  teardown(end: () => unknown): void;
}

export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  rawHeaders: string[];
  trailers: Record<string, string | undefined>;
  body: string;
}

export const namespace = 'shop-prod';
export const appHost = 'api--shop-prod.apps.localhost';
export const appId = '0190a0a0-0000-7000-8000-000000000001' as Id;

/** The objects that the platform writes for an app. */
export function appObjects(input: Partial<AppRouteInput> = {}): KubeObject[] {
  const app: AppRouteInput = {
    id: appId,
    name: 'api',
    namespace,
    hosts: [appHost],
    entryPoints: ['web'],
    scheme: 'http',
    gated: false,
    ...input,
  };
  const route = appRoute(app);
  const middlewares = [...sharedObjects(route), routeSecurity(route), routeGate(route)];
  return [ingressRoute(route), ...middlewares.filter((object) => object !== undefined)];
}

/** A Service and the slice of its only pod, at a port of this machine. */
function serviceObjects(name: string, home: string, port: number): KubeObject[] {
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: home },
    spec: { selector: { app: name }, ports: [{ name: 'http', port: 80, targetPort: 'http', protocol: 'TCP' }] },
  };
  return [service, sliceOf(name, home, port)];
}

/** An EndpointSlice with one endpoint. */
export function sliceOf(
  service: string,
  home: string,
  port: number,
  conditions: { serving?: boolean; terminating?: boolean } = {},
): KubeObject {
  const { serving = true, terminating = false } = conditions;
  const slice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    addressType: 'IPv4',
    metadata: { name: `${service}-${port}`, namespace: home, labels: { [serviceNameLabel]: service } },
    endpoints: [{ addresses: ['127.0.0.1'], conditions: { ready: serving && !terminating, serving, terminating } }],
    ports: [{ name: 'http', port, protocol: 'TCP' }],
  };
  return slice;
}

function kindOf(object: KubeObject): ResourceKind {
  const kindOfObject = Object.values(kinds).find(
    (kind) => kind.kind === object.kind && kind.apiVersion === object.apiVersion,
  );
  if (!kindOfObject) throw new Error(`no kind ${object.kind}`);
  return kindOfObject;
}

/** An ingress over objects in memory, with pods that are servers of the test. */
export async function createWorld(t: Test, options: Partial<IngressOptions> = {}) {
  const kube = fakeKube();
  const { log, entries } = recorded();
  const informers = createInformers({ kube, clock: systemClock, log });
  const ingress = createIngress({
    informers,
    clock: systemClock,
    log,
    port: 0,
    host: '127.0.0.1',
    entryPoints: ['web'],
    drainMs: 0,
    halfCloseMs: 50,
    ...options,
  });
  informers.start();
  const port = await ingress.start();
  t.teardown(async () => {
    await ingress.stop();
    await informers.stop();
  });

  /** Resolves once the ingress has applied the change. */
  const waitForObjects = (kind: ResourceKind, condition: (objects: Stored<KubeObject>[]) => boolean) =>
    new Promise<void>((resolve) => {
      const informer = informers.of(kind);
      const check = () => {
        if (!condition(informer.list())) return;
        end();
        resolve();
      };
      const end = informer.onChange(check);
      check();
    });
  const put = async (...objects: KubeObject[]) => {
    for (const object of objects) {
      const { name, namespace: home } = object.metadata;
      const live = await kube.get(kindOf(object), name, home);
      const metadata = { ...object.metadata, uid: live?.metadata.uid, resourceVersion: live?.metadata.resourceVersion };
      const { metadata: written } = live
        ? await kube.replace({ ...object, metadata } as Stored<KubeObject>)
        : await kube.create(object);
      await waitForObjects(kindOf(object), (list) =>
        list.some((each) => each.metadata.resourceVersion === written.resourceVersion),
      );
    }
  };
  const remove = async ({ apiVersion, kind, metadata: { name, namespace: home } }: KubeObject) => {
    await kube.delete({ apiVersion, kind, name, ...(home !== undefined && { namespace: home }) });
    await waitForObjects(kindOf({ apiVersion, kind, metadata: { name } }), (list) =>
      list.every(({ metadata }) => metadata.name !== name || metadata.namespace !== home),
    );
  };

  /** Starts a server and a Service that leads to it. @returns its port */
  const serve = async (name: string, home: string, listener: RequestListener) => {
    const server = createServer({ maxHeaderSize: 2 ** 21 }, listener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port: at } = server.address() as AddressInfo;
    await put(...serviceObjects(name, home, at));
    return { server, port: at };
  };

  const ask = async (
    target: {
      host?: string;
      path?: string;
      method?: string;
      headers?: Record<string, string | string[]>;
      body?: string;
    } = {},
  ): Promise<Reply> => {
    const { host = appHost, path = '/', method = 'GET', headers = {}, body } = target;
    const request = httpRequest({ port, host: '127.0.0.1', path, method, agent: false, headers: { host, ...headers } });
    request.end(body);
    const [reply] = (await once(request, 'response')) as [IncomingMessage];
    const content = await text(reply);
    const { statusCode: status = 0, headers: fields, rawHeaders, trailers } = reply;
    return { status, headers: fields, rawHeaders, trailers, body: content };
  };
  const open = async (bytes: string): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1');
    t.teardown(() => socket.destroy());
    await once(socket, 'connect');
    socket.write(bytes, 'latin1');
    return socket;
  };

  return {
    kube,
    informers,
    ingress,
    port,
    entries,
    put,
    remove,
    serve,
    ask,
    open,
    /** Sends bytes, whose last request closes the connection, and reads to the end. */
    exchange: async (bytes: string) => text(await open(bytes)),
    /** An app that returns the request that it got, as JSON. */
    serveEcho: () => serve('api', namespace, echo),
    /** The checker, at the address of svc-authz. */
    serveChecker: (listener: RequestListener) => serve('svc-authz', systemNamespace, listener),
  };
}

function recorded() {
  const recording = recordingLog();
  return { log: recording.log, entries: () => recording.entries.filter(({ level }) => Number(level) >= 40) };
}

/** Answers with method, target and headers as they arrived. */
export const echo: RequestListener = (request, response) => {
  const answer = async () => {
    const body = await text(request);
    const { method, url, headers, rawHeaders, rawTrailers: trailers } = request;
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ method, url, headers, rawHeaders, body, trailers }));
  };
  void answer();
};

export interface Seen {
  method: string;
  url: string;
  headers: Record<string, string>;
  rawHeaders: string[];
  body: string;
  trailers: string[];
}

export const seenBy = (reply: { body: string }) => JSON.parse(reply.body) as Seen;
