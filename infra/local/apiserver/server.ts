import { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Clock } from '../../../runtime/domain/clock.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { close, listen } from '../../../runtime/process/listening.ts';
import { kubeconfigOf, loadAccess, writeSecret } from './access.ts';
import { createAdmission } from './admission.ts';
import { createAuthentication } from './authentication.ts';
import { createAuthorization } from './authorization.ts';
import { bootstrap, createNamespaceDefaults } from './bootstrap.ts';
import { createCleanup } from './cleanup.ts';
import { createDatabase } from './database.ts';
import { createDiscovery } from './discovery.ts';
import { expireEvents } from './expiry.ts';
import { createLists } from './list.ts';
import { createLocalClient } from './local-client.ts';
import { createObjects } from './objects.ts';
import { createOpenApi } from './openapi.ts';
import { createExec, type PodExec } from './pod-exec.ts';
import { createPodLogs, type PodLogs } from './pod-logs.ts';
import { createRegistry } from './registry.ts';
import { createRest } from './rest.ts';
import { createWriteCheck } from './role-binding.ts';
import { createRoutes } from './routes.ts';
import { createStore } from './store.ts';
import { createTokenReviews } from './token-reviews.ts';
import { createTokenRequests } from './tokens.ts';
import { createWatches } from './watch.ts';

export interface ApiServerOptions {
  /** The server's own folder, for objects, keys and kubeconfig. Created if it does not exist. */
  dataDir: string;
  clock: Clock;
  /** IPv4 address to listen on; default 127.0.0.1. */
  address?: string;
  /** Default 0: any free port. */
  port?: number;
  /** Serves `pods/log`; without it, logs are not supported. */
  logs?: PodLogs;
  /** Runs the commands of `pods/exec`; without it, exec is not supported. */
  exec?: PodExec;
  /** Number of changes per resource that a watch can resume from; default 1,000. */
  history?: number;
  /** Interval of bookmarks in milliseconds; default one minute. */
  bookmarkMs?: number;
}

/** The part of the Kubernetes API that the platform uses, over HTTPS, stored in one folder. */
export interface ApiServer {
  /** Opens the store and listens. @throws Error when the port is in use or another server uses the folder */
  start(): Promise<void>;
  /** Closes all watches and connections, and the store. */
  stop(): Promise<void>;
  /** The administrator's client in this process. @throws Error before {@link start} */
  readonly client: KubeClient;
  /** `https://127.0.0.1:16443`; empty before {@link start}. */
  readonly url: string;
  /** Path of the administrator's kubeconfig, which {@link start} writes. */
  readonly kubeconfig: string;
}

const loopback = '127.0.0.1';

export function createApiServer(options: ApiServerOptions): ApiServer {
  const { dataDir, clock, address = loopback, port = 0, history, bookmarkMs } = options;
  const kubeconfig = join(dataDir, 'admin.kubeconfig');
  const now = () => clock.now();
  let running: { url: string; client: KubeClient; end: () => Promise<void> } | undefined;

  const start = async () => {
    const access = loadAccess(join(dataDir, 'pki'), [...new Set([loopback, address])], now());
    const { adminToken, signingKey, tls } = access;
    const store = createStore(createDatabase(join(dataDir, 'objects.db')), history);
    const registry = createRegistry(store);
    const objects = createObjects({ store, clock, admit: createAdmission(store) });
    const watches = createWatches({ store, bookmarkMs });
    const lists = createLists({ store, monotonic: () => clock.monotonic() });
    const cleanup = createCleanup({ store, objects, registry });
    const exec = createExec({ objects, exec: options.exec });
    const discovery = createDiscovery(registry);
    const openApi = createOpenApi(registry);
    const isAllowed = createAuthorization(store);
    const routes = createRoutes({
      registry,
      rest: createRest({ objects, lists, watches, checkWrite: createWriteCheck(isAllowed) }),
      authenticate: createAuthentication({ store, adminToken, signingKey, now }),
      isAllowed,
      documents: (path) => discovery(path) ?? openApi(path),
      subresources: {
        'pods/exec': exec.serve,
        'pods/log': createPodLogs({ objects, now, logs: options.logs }),
        'serviceaccounts/token': createTokenRequests({ store, objects, signingKey, now }),
      },
      reviews: { 'authentication.k8s.io/v1/tokenreviews': createTokenReviews({ store, signingKey, now }) },
    });
    const server = createServer({ key: tls.key, cert: tls.certificate }, (...exchange) => void routes(...exchange));
    server.on('upgrade', (request, socket, head) => {
      const response = new ServerResponse(request);
      // An HTTP response to an upgrade request closes the connection.
      response.shouldKeepAlive = false;
      response.assignSocket(socket as Socket);
      socket.on('error', () => socket.destroy());
      response.on('finish', () => socket.end());
      void routes(request, response, { socket, head });
    });
    // A watch may be silent for a long time.
    Object.assign(server, { requestTimeout: 0, keepAliveTimeout: 90_000 });
    store.open();
    const actual = await listen(server, port, address).catch((error: unknown) => {
      store.close();
      throw error;
    });
    const url = `https://${address}:${actual}`;
    store.subscribe('/namespaces', ({ type, object }) => {
      if (type !== 'ADDED') return;
      createNamespaceDefaults({ objects, registry, certificate: tls.certificate }, object.metadata.name);
    });
    bootstrap({ store, objects, registry, address, port: actual });
    cleanup.start();
    const stopping = new AbortController();
    const expiring = expireEvents(store, clock, stopping.signal);
    writeSecret(kubeconfig, kubeconfigOf(url, access));
    const end = async () => {
      watches.stop();
      exec.stop();
      cleanup.stop();
      stopping.abort();
      await expiring;
      await close(server);
      store.close();
    };
    running = { url, client: createLocalClient({ store, objects, registry }), end };
  };

  return {
    start,
    async stop() {
      const ending = running;
      running = undefined;
      await ending?.end();
    },
    get client() {
      if (!running) throw new Error('the API server does not run');
      return running.client;
    },
    get url() {
      return running?.url ?? '';
    },
    kubeconfig,
  };
}
