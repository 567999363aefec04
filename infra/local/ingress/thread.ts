import { parentPort, workerData } from 'node:worker_threads';
import { Registry } from 'prom-client';
import { systemClock as clock } from '../../../runtime/domain/clock.ts';
import { createLogger } from '../../../runtime/process/log.ts';
import { createKubeClient } from '../../../runtime/kube/client.ts';
import { tokenCredentials } from '../../../runtime/kube/credentials.ts';
import { createInformers } from '../../../runtime/kube/informers.ts';
import { createIngress } from './ingress.ts';
import type { ThreadData, ThreadMessage, ThreadRequest } from './threaded.ts';

/** The program of the ingress's thread (`threaded.ts`): reports its port once it listens, its metrics on request, and stops. */
const { name, level, apiServer, ca, token, ...entry } = workerData as ThreadData;
const log = createLogger(name, { level });
const kube = createKubeClient(tokenCredentials(apiServer, async () => ({ token, ca })));
const informers = createInformers({ kube, clock, log });
const registry = new Registry();
const ingress = createIngress({ informers, clock, log, registry, ...entry });
const port = parentPort;

if (!port) throw new Error('this program runs only in a worker thread');
informers.start();
const message: ThreadMessage = { port: await ingress.start() };
const stopped = Promise.withResolvers<void>();
port.on('message', (request: ThreadRequest) => {
  if (request === 'stop') stopped.resolve();
  else void registry.metrics().then((metrics) => port.postMessage({ metrics } satisfies ThreadMessage));
});
port.postMessage(message);
await stopped.promise;
port.unref();
await ingress.stop();
await informers.stop();
await kube.close();
