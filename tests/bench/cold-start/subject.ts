import { request as httpRequest } from 'node:http';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { functionContainer } from '../../../infra/manifests/function-pod.ts';
import { isContainerRunning, isPodLive, type Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { appLabel, kindLabel, warmLabel } from '../../../runtime/domain/labels.ts';
import { createInformer, type Informer } from '../../../runtime/kube/informer.ts';
import { isKubeError, type KubeClient } from '../../../runtime/kube/kube-client.ts';
import { silentLog } from '../../support/log.ts';
import { uniqueName, type Platform } from '../../support/platform.ts';

const code = 'export const handler = () => ({ statusCode: 200, body: "ok" });\n';
/** Idle time of the machine after the last pod has ended. */
const restMs = 500;

/** The steps of a cold start, as offsets in ms from its beginning. */
export type Steps = Record<'address' | 'connect' | 'firstByte', number> & { raised?: number };

/** A function to start from zero. */
export interface Subject {
  kube: KubeClient;
  pods: Informer<Pod>;
  namespace: string;
  name: string;
  /** The function's public URL, and the ingress that serves it. */
  url: URL;
  ingress: URL;
}

/**
 * Creates a function whose code does nothing, and waits for the answer to its first request. Stop its informer at the
 * end.
 */
export async function createSubject(platform: Platform, kube: KubeClient, project: string): Promise<Subject> {
  const name = uniqueName('cold');
  const namespace = `${project}-prod`;
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const file = join(folder, 'cold.js');
  writeFileSync(file, code);
  const flags = ['--project', project, '--environment', 'prod'];
  await platform.ok(['function', 'create', name, '--runtime', 'node', '--code-file', file, ...flags]);
  rmSync(folder, { recursive: true });
  const { url } = await platform.json<{ url: string }>(['function', 'show', name, ...flags]);
  const pods = createInformer<Pod>({
    kube,
    kind: kinds.Pod,
    clock: systemClock,
    log: silentLog,
    selection: { namespace, labelSelector: `${appLabel}=${name},${kindLabel}=Function` },
  });
  pods.start();
  await pods.whenSynced();
  const subject = { kube, pods, namespace, name, url: new URL(url), ingress: new URL(platform.info.ingress) };
  // The first start pulls the image, and proves that the route exists.
  while ((await ask(subject.ingress.hostname, Number(subject.ingress.port), subject.url.host)).status !== 200) {
    await systemClock.sleep(200);
  }
  return subject;
}

/**
 * Sends one request at zero. The interceptor reports its steps in Server-Timing, relative to the request's arrival
 * there.
 */
export async function throughPlatform({ ingress, url }: Subject): Promise<Steps> {
  const startedAt = performance.now();
  const answer = await ask(ingress.hostname, Number(ingress.port), url.host);
  const firstByte = performance.now() - startedAt;
  if (answer.status !== 200 || answer.coldStart !== 'true') throw new Error(`no cold start: ${JSON.stringify(answer)}`);
  const step = (name: string) => Number(new RegExp(`${name};dur=([\\d.]+)`).exec(answer.timing)?.[1] ?? Number.NaN);
  return { raised: step('svc-raised'), address: step('svc-address'), connect: step('svc-connect'), firstByte };
}

/** Writes the scale as kubectl does. */
export async function setScale({ kube, namespace, name }: Subject, replicas: number): Promise<void> {
  for (;;) {
    const scale = await kube.getScale(namespace, name);
    if (!scale) throw new Error('the function has no Deployment');
    if (scale.replicas === replicas) return;
    try {
      await kube.replaceScale(scale, replicas);
      return;
    } catch (error) {
      if (!isKubeError(error, 409)) throw error;
    }
  }
}

/** Resolves when the function has no pod and the machine is idle. */
export async function toZero(subject: Subject): Promise<void> {
  await setScale(subject, 0);
  while (subject.pods.list().length > 0) await systemClock.sleep(50);
  await systemClock.sleep(restMs);
}

/** Resolves when the environment has a generic pod that waits, and the machine is idle. */
export async function genericPod({ kube, namespace }: Subject): Promise<void> {
  const waits = async () => {
    const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector: warmLabel });
    return items.some((pod) => isPodLive(pod) && isContainerRunning(pod, functionContainer));
  };
  while (!(await waits())) await systemClock.sleep(100);
  await systemClock.sleep(restMs);
}

/** A GET on its own connection; resolves at the answer's first byte. */
export function ask(
  hostname: string,
  at: number,
  host: string,
  onConnect?: () => void,
): Promise<{ status: number; coldStart: string; timing: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: hostname, port: at, agent: false, headers: { host }, timeout: 90_000 });
    request.once('error', reject);
    request.once('timeout', () => request.destroy(new Error('no answer within 90 s')));
    if (onConnect) request.once('socket', (socket) => socket.once('connect', onConnect));
    request.once('response', (response) => {
      response.resume();
      resolve({
        status: response.statusCode ?? 0,
        coldStart: String(response.headers['x-svc-cold-start']),
        timing: String(response.headers['server-timing']),
      });
    });
    request.end();
  });
}
