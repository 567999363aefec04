import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { applyObject } from '../../runtime/kube/children.ts';
import { createKubeClient } from '../../runtime/kube/client.ts';
import { tokenCredentials } from '../../runtime/kube/credentials.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import { objectPath } from '../../runtime/kube/resource-paths.ts';
import { createTransport, type Transport } from '../../runtime/kube/transport.ts';
import { customResourceDefinitions } from '../crds/custom-resources.ts';
import { loadAccess } from './apiserver/access.ts';
import { createApiServer } from './apiserver/server.ts';
import { createControllerManager } from './controllers/controller-manager.ts';
import { bootstrapObjects } from './bootstrap-objects.ts';
import type { Home } from './home.ts';
import { createGoCache } from './go-cache.ts';
import { createImageUploadServer } from './image-upload.ts';
import { diskMetrics } from './metrics/disk-metrics.ts';
import { createLocalMetrics } from './metrics/local-metrics.ts';
import { createThreadedIngress } from './ingress/threaded.ts';
import { builtImages, createImageStore } from './node/images.ts';
import { createLocalLogs } from './local-logs.ts';
import { createLocalNode, systemPath, type LocalNode, type LocalNodeOptions } from './node/node.ts';
import type { IssueToken } from './node/volumes.ts';
import type { Ports } from './ports.ts';
import { readStoreCredentials } from './store-credentials.ts';
import { createLocalStores } from './stores.ts';

/** Options of {@link startLocalCluster}. */
export interface LocalClusterOptions {
  home: Home;
  ports: Ports;
  passwd: LocalNodeOptions['passwd'];
  clock: Clock;
  log: Logger;
}

/** A started part. Parts stop in reverse order of their start. */
export interface Part {
  name: string;
  stop(): Promise<void>;
}

/** The entry point of Traefik that the embedded ingress replaces. */
export const entryPoint = 'web';

/**
 * Starts the embedded cluster in this process: an API server, controllers, a node, and an ingress on its own thread
 * (docs/architecture.md). Calls `add` with each part once it runs.
 */
export async function startLocalCluster(options: LocalClusterOptions, add: (part: Part) => void): Promise<void> {
  const { home, ports, passwd, clock, log } = options;
  let node: LocalNode | undefined;
  const server = createApiServer({
    dataDir: home.apiServer,
    port: ports.apiServer,
    clock,
    logs: async ({ metadata: { uid = '' } }, { container, ...options }, signal) => {
      if (!node) throw new Error('the node has not started yet');
      return node.logs({ uid, container }, options, signal);
    },
    exec: async ({ metadata: { uid = '' } }, { container, ...run }, streams, signal) => {
      if (!node) throw new Error('the node has not started yet');
      return node.exec({ uid, container }, run, streams, signal);
    },
  });
  await server.start();
  add({ name: 'API server', stop: () => server.stop() });

  const { tls, adminToken } = loadAccess(join(home.apiServer, 'pki'), [], clock.now());
  const adminCredentials = tokenCredentials(server.url, async () => ({ token: adminToken, ca: tls.certificate }));
  const remote = createKubeClient(adminCredentials);
  add({ name: 'Kubernetes client', stop: () => remote.close() });
  const kube = server.client;
  await createBootstrapObjects(kube);

  const controllers = createControllerManager({ kube, clock, log, registry: new Registry() });
  await controllers.start();
  add({ name: 'controllers', stop: () => controllers.stop() });

  const ingress = createThreadedIngress({
    name: String(log.bindings()['name']),
    level: log.level,
    apiServer: server.url,
    ca: tls.certificate,
    token: adminToken,
    port: ports.ingress,
    host: '127.0.0.1',
    entryPoints: [entryPoint],
  });
  await ingress.start();
  add({ name: 'ingress', stop: () => ingress.stop() });

  const images = createImageStore(home.images);
  const credentials = () => readStoreCredentials(kube, 'push', `127.0.0.1:${ports.images}`);
  const deletionCredentials = () => readStoreCredentials(kube, 'delete', `127.0.0.1:${ports.images}`);
  const goCache = createGoCache({ folder: home.go, path: systemPath, log });
  add({ name: 'packages of Go', stop: () => goCache.stop() });
  const imageUpload = createImageUploadServer({
    images,
    log,
    prefix: builtImages,
    credentials,
    deletionCredentials,
    goPackages: () => goCache.find(),
  });
  await imageUpload.start(ports.images);
  add({ name: 'image upload', stop: () => imageUpload.stop() });

  const logs = createLocalLogs({ kube, folder: home.logs, port: ports.logs, clock, log });
  await logs.start();
  add({ name: 'log server', stop: () => logs.stop() });

  const metrics = createLocalMetrics({
    kube,
    reviews: remote,
    sources: [
      { name: 'ingress', metrics: () => ingress.metrics() },
      { name: 'node', metrics: async () => node?.usage() },
      { name: hostname(), metrics: () => diskMetrics(home.folder) },
    ],
    file: home.metrics,
    port: ports.metrics,
    clock,
    log,
  });
  await metrics.start();
  add({ name: 'metrics server', stop: () => metrics.stop() });

  // Before the node, so that what its first pods print is stored.
  const stores = createLocalStores({ kube, stores: { 'metrics-store': metrics, 'log-store': logs }, clock, log });
  await stores.start();
  add({ name: 'stores', stop: () => stores.stop() });

  node = createLocalNode({
    kube,
    collect: logs.collect,
    clock,
    log,
    folder: home.node,
    passwd,
    images,
    issueToken: tokenIssuer(createTransport(adminCredentials)),
    apiServer: { url: server.url, ca: tls.certificate },
  });
  const startedNode = node;
  await startedNode.start();
  add({ name: 'node', stop: () => startedNode.stop() });
}

/** Creates the platform's CRDs and the objects that a Kubernetes distribution provides. */
async function createBootstrapObjects(kube: KubeClient): Promise<void> {
  for (const definition of customResourceDefinitions) await applyObject(kube, definition);
  for (const object of bootstrapObjects) {
    await kube.create(object).catch((error: unknown) => {
      if (!isKubeError(error, 409)) throw error;
    });
  }
}

/** https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-request-v1/ */
function tokenIssuer(transport: Transport): IssueToken {
  return async ({ namespace, serviceAccount, pod, audience, expirationSeconds }) => {
    const body = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {
        ...(audience !== undefined && { audiences: [audience] }),
        ...(expirationSeconds !== undefined && { expirationSeconds }),
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', ...pod },
      },
    };
    const path = objectPath(kinds.ServiceAccount, serviceAccount, namespace);
    const { status } = (await transport.json('POST', `${path}/token`, { body })) as { status: { token: string } };
    return status.token;
  };
}
