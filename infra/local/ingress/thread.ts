import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock as clock } from '../../../runtime/domain/clock.ts';
import { createLogger } from '../../../runtime/process/log.ts';
import { createKubeClient } from '../../../runtime/kube/client.ts';
import { tokenCredentials } from '../../../runtime/kube/credentials.ts';
import { createInformers } from '../../../runtime/kube/informers.ts';
import { createIngress } from './ingress.ts';
import type { ThreadData, ThreadMessage } from './threaded.ts';

/** The program of the ingress's thread (`threaded.ts`): reports its port once it listens, and stops on a message. */
const { name, level, apiServer, ca, token, ...entry } = workerData as ThreadData;
const log = createLogger(name, { level });
const kube = createKubeClient(tokenCredentials(apiServer, async () => ({ token, ca })));
const informers = createInformers({ kube, clock, log });
const ingress = createIngress({ informers, clock, log, ...entry });

if (!parentPort) throw new Error('this program runs only in a worker thread');
informers.start();
const message: ThreadMessage = { port: await ingress.start() };
const stopRequested = once(parentPort, 'message');
parentPort.postMessage(message);
await stopRequested;
await ingress.stop();
await informers.stop();
await kube.close();
