import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Test } from 'tap';
import { createInvocationRoutes, type InvocationDependencies } from '../../../functions/invocations/handler.ts';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import type { FunctionSpec } from '../../../runtime/contracts/resources/function.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { testApi } from '../../support/api.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { recordingLog } from '../../support/log.ts';
import { seedShop } from '../../support/objects.ts';

export const functionId = '019a0000-0000-7000-8000-0000000000f1';
export const host = 'fn-hello--c1.apps.test';

/** A function of the environment `prod` of the project `shop`, with its host. */
export function testFunction(
  name = 'hello',
  { spec = {}, status = { host, url: `https://${host}` } }: { spec?: Partial<FunctionSpec>; status?: object } = {},
): KubeObject {
  return {
    apiVersion: 'platform.svc/v1',
    kind: 'Function',
    metadata: { name, namespace: 'shop-prod', labels: { 'platform.svc/id': functionId } },
    spec: { trigger: 'http', port: 8080, idleTimeoutSeconds: 300, ...spec },
    status,
  };
}

async function serve(t: Test, server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

type Exchange = Parameters<RequestListener>;

/** A server in place of the interceptors. */
export function answering(t: Test, listener: (...exchange: Exchange) => void | Promise<void>): Promise<string> {
  return serve(
    t,
    createServer((...exchange) => void listener(...exchange)),
  );
}

/** As {@link answering}, which sends bytes of its own. */
export function sending(t: Test, onRequest: (socket: Socket) => void): Promise<string> {
  return serve(
    t,
    createTcpServer((socket) => void socket.once('data', () => onRequest(socket))),
  );
}

/** The API, whose function `hello` is behind this address. */
export async function invocations(
  t: Test,
  interceptorUrl: string,
  options: Partial<InvocationDependencies> & Partial<Parameters<typeof testApi>[1]> = {},
) {
  const kube = fakeKube();
  seedShop(kube);
  kube.seed(testFunction());
  const recording = recordingLog();
  const lines = () => recording.entries;
  const routes = createInvocationRoutes({ kube, clock: systemClock, interceptorUrl, ...options });
  const api = await testApi(t, { routes, log: recording.log, ...options });
  const invoke = (
    body: object = {},
    { name = 'hello', headers = {} }: { name?: string; headers?: Record<string, string> } = {},
  ) => api.call('POST', `/api/v1/projects/shop/functions/${name}/invoke`, { body, headers });
  return { kube, api, invoke, lines };
}
