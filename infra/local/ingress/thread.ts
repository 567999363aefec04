import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock as clock } from '../../../runtime/domain/clock.ts';
import { createLogger } from '../../../runtime/host/log.ts';
import { createKubeClient } from '../../../runtime/kube/client.ts';
import { tokenCredentials } from '../../../runtime/kube/credentials.ts';
import { createInformers } from '../../../runtime/kube/informers.ts';
import { createIngress } from './ingress.ts';
import type { ThreadData, ThreadMessage } from './threaded.ts';

/** The program of the ingress's thread (`threaded.ts`): says its port once it listens, and ends when it is told to. */
const { name, level, apiServer, ca, token, ...entry } = workerData as ThreadData;
const log = createLogger(name, { level });
const kube = createKubeClient(tokenCredentials(apiServer, async () => ({ token, ca })));
const informers = createInformers({ kube, clock, log });
const ingress = createIngress({ informers, clock, log, ...entry });

if (!parentPort) throw new Error('this is the program of a thread');
informers.start();
const message: ThreadMessage = { port: await ingress.start() };
const told = once(parentPort, 'message');
parentPort.postMessage(message);
await told;
await ingress.stop();
await informers.stop();
await kube.close();
