import { once } from 'node:events';
import { ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { kubeconfigOf, loadAccess, writeSecret } from './access.ts';
import { createAdmission } from './admission.ts';
import { createAuthentication } from './authentication.ts';
import { bootstrap, furnishNamespace } from './bootstrap.ts';
import { createCleanup } from './cleanup.ts';
import { createDatabase } from './database.ts';
import { createDiscovery } from './discovery.ts';
import { createExpiry } from './expiry.ts';
import { createLists } from './list.ts';
import { createObjects } from './objects.ts';
import { createOpenApi } from './openapi.ts';
import { createExec, type PodExec } from './pod-exec.ts';
import type { PodLogs } from './pod-logs.ts';
import { createRegistry } from './registry.ts';
import { createRest } from './rest.ts';
import { createRoutes } from './routes.ts';
import { createStore } from './store.ts';
import { createWatches } from './watch.ts';

export interface ApiServerOptions {
  /** Folder of its own: the objects, the keys and the kubeconfig. Made when there is none. */
  dataDir: string;
  clock: Clock;
  /** IPv4 address to listen at, 127.0.0.1 by default. */
  address?: string;
  /** 0, the default, takes any that is free. */
  port?: number;
  /** Where `pods/log` comes from; without it that is refused. */
  logs?: PodLogs;
  /** Who runs the commands of `pods/exec`; without it that is refused. */
  exec?: PodExec;
  /** Changes of each resource that a watch can still be given, 1,000 by default. */
  history?: number;
  /** How often a watch is told how far it has come, in milliseconds; a minute by default. */
  bookmarkMs?: number;
}

/** The part of the Kubernetes API that the platform uses, over HTTPS, with everything stored in one folder. */
export interface ApiServer {
  /** Opens the store and listens. @throws Error when the port is taken, or another server has the folder */
  start(): Promise<void>;
  /** Ends every watch and connection, and closes the store. */
  stop(): Promise<void>;
  /** `https://127.0.0.1:6443`; empty before {@link start}. */
  readonly url: string;
  /** Path of the administrator's kubeconfig, written by {@link start}. */
  readonly kubeconfig: string;
}

const loopback = '127.0.0.1';

export function createApiServer(options: ApiServerOptions): ApiServer {
  const { dataDir, clock, address = loopback, port = 0, logs, history, bookmarkMs } = options;
  const kubeconfig = join(dataDir, 'admin.kubeconfig');
  const now = () => clock.now();
  let running: { server: Server; url: string; end: () => Promise<void> } | undefined;

  const start = async () => {
    const access = loadAccess(join(dataDir, 'pki'), [...new Set([loopback, address])], now());
    const store = createStore(createDatabase(join(dataDir, 'objects.db')), history === undefined ? {} : { history });
    const registry = createRegistry(store);
    const objects = createObjects({ store, clock, admit: createAdmission({ store }) });
    const watches = createWatches({ store, ...(bookmarkMs !== undefined && { bookmarkMs }) });
    const lists = createLists({ store, monotonic: () => clock.monotonic() });
    const cleanup = createCleanup({ store, objects, registry });
    const expiry = createExpiry({ store, clock });
    const exec = createExec({ objects, exec: options.exec });
    const { adminToken, signingKey, tls } = access;
    const routes = createRoutes({
      ...{ store, registry, objects, signingKey, now, logs, exec },
      rest: createRest({ objects, lists, watches }),
      discovery: createDiscovery(registry),
      openApi: createOpenApi(registry),
      authentication: createAuthentication({ store, adminToken, signingKey, now }),
    });
    const server = createServer({ key: tls.key, cert: tls.certificate }, (request, response) => {
      void routes(request, response);
    });
    server.on('upgrade', (request, socket, head) => {
      const response = new ServerResponse(request);
      // Whatever is answered in HTTP is the last thing on this connection.
      response.shouldKeepAlive = false;
      response.assignSocket(socket as Socket);
      socket.on('error', () => socket.destroy());
      response.on('finish', () => socket.end());
      void routes(request, response, { socket, head });
    });
    // A watch may say nothing for long.
    server.requestTimeout = 0;
    server.keepAliveTimeout = 90_000;
    store.open();
    try {
      server.listen(port, address);
      await once(server, 'listening');
    } catch (error) {
      store.close();
      throw error;
    }
    const bound = server.address();
    const actual = typeof bound === 'object' && bound ? bound.port : port;
    const url = `https://${address}:${actual}`;
    store.subscribe('/namespaces', ({ type, object }) => {
      if (type !== 'ADDED') return;
      furnishNamespace({ objects, registry, certificate: tls.certificate }, object.metadata.name);
    });
    bootstrap({ store, objects, registry, address, port: actual });
    cleanup.start();
    expiry.start();
    writeSecret(kubeconfig, kubeconfigOf(url, access));
    const end = async () => {
      watches.stop();
      exec.stop();
      await cleanup.stop();
      await expiry.stop();
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
      store.close();
    };
    running = { server, url, end };
  };

  return {
    start,
    async stop() {
      const ending = running;
      running = undefined;
      await ending?.end();
    },
    get url() {
      return running?.url ?? '';
    },
    kubeconfig,
  };
}
