import { request as httpRequest } from 'node:http';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Pod } from '../../runtime/contracts/pod.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { appLabel, kindLabel } from '../../runtime/domain/labels.ts';
import { createKubeClient } from '../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../runtime/kube/kubeconfig.ts';
import { createInformer, type Informer } from '../../runtime/kube/informer.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import { silentLog } from '../support/log.ts';
import { runningPlatform, uniqueName, type Platform } from '../support/platform.ts';
import { median, printFigure } from './figure.ts';

const code = 'export const handler = () => ({ statusCode: 200, body: "ok" });\n';
const port = 8080;
/** The floor's client tries this often, as the interceptor does. */
const tryEveryMs = 20;
/** After the last pod has gone the machine gets this long to come to rest. */
const restMs = 500;

/** Where a cold start's time goes: offsets in ms from its beginning. */
type Steps = Record<'address' | 'connect' | 'firstByte', number> & { raised?: number };

interface Subject {
  kube: KubeClient;
  pods: Informer<Pod>;
  namespace: string;
  name: string;
  /** The function's public URL, and the ingress that serves it. */
  url: URL;
  ingress: URL;
}

/**
 * First byte of a function at zero, through Traefik and interceptor, beside the floor: the same Deployment scaled from
 * zero by an API call, and its pod's own address asked until it answers. Pairs in one run, their order alternating.
 * Needs a running platform (`npm start`); `--pairs <n>`, 30 by default.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { pairs: { type: 'string', default: '30' } } });
  const platform = await runningPlatform();
  const project = uniqueName('bench');
  const kube = createKubeClient(loadKubeConfig(platform.info.kubeconfig));
  try {
    await platform.ok(['project', 'create', project, '--environment', 'prod']);
    const subject = await createSubject(platform, kube, project);
    try {
      report(await measure(subject, Number(values.pairs)));
    } finally {
      await subject.pods.stop();
    }
  } finally {
    await platform.ok(['project', 'delete', project, '--yes']);
    await kube.close();
  }
}

async function createSubject(platform: Platform, kube: KubeClient, project: string): Promise<Subject> {
  const name = 'cold';
  const namespace = `${project}-prod`;
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const file = join(folder, 'cold.js');
  writeFileSync(file, code);
  const flags = ['--project', project, '--environment', 'prod'];
  await platform.ok(['function', 'create', name, '--runtime', 'node', '--code-file', file, ...flags]);
  rmSync(folder, { recursive: true });
  const { url } = await platform.json<{ url: string }>(['function', 'show', name, ...flags]);
  const pods = createInformer<Pod>({
    ...{ kube, kind: kinds.Pod, clock: systemClock, log: silentLog },
    selection: { namespace, labelSelector: `${appLabel}=${name},${kindLabel}=Function` },
  });
  pods.start();
  await pods.whenSynced();
  const subject = { kube, pods, namespace, name, url: new URL(url), ingress: new URL(platform.info.ingress) };
  // The first start pulls the image, and shows when the route is there.
  while ((await ask(subject.ingress.hostname, Number(subject.ingress.port), subject.url.host)).status !== 200) {
    await systemClock.sleep(200);
  }
  return subject;
}

async function measure(subject: Subject, pairs: number): Promise<{ platform: Steps[]; floor: Steps[] }> {
  const results: { platform: Steps[]; floor: Steps[] } = { platform: [], floor: [] };
  for (let pair = 0; pair < pairs; pair++) {
    const order = pair % 2 === 0 ? (['platform', 'floor'] as const) : (['floor', 'platform'] as const);
    for (const side of order) {
      await toZero(subject);
      results[side].push(await (side === 'platform' ? throughPlatform(subject) : floor(subject)));
    }
    const [platform, bare] = [results.platform.at(-1), results.floor.at(-1)];
    process.stderr.write(
      `pair ${pair + 1}: ${platform?.firstByte.toFixed(0)} ms, floor ${bare?.firstByte.toFixed(0)} ms\n`,
    );
  }
  return results;
}

function report({ platform, floor }: { platform: Steps[]; floor: Steps[] }): void {
  const middle = (steps: Steps[], step: keyof Steps) => median(steps.map((entry) => entry[step] ?? Number.NaN));
  printFigure({ name: 'cold-start.platform.raised', value: middle(platform, 'raised'), unit: 'ms' });
  for (const [side, steps] of [
    ['platform', platform],
    ['floor', floor],
  ] as const) {
    printFigure({ name: `cold-start.${side}.pod-address`, value: middle(steps, 'address'), unit: 'ms' });
    printFigure({ name: `cold-start.${side}.pod-connect`, value: middle(steps, 'connect'), unit: 'ms' });
    printFigure({ name: `cold-start.${side}.first-byte`, value: middle(steps, 'firstByte'), unit: 'ms' });
  }
  const ratio = middle(platform, 'firstByte') / middle(floor, 'firstByte');
  printFigure({ name: 'cold-start.ratio', value: ratio, unit: 'ratio', target: { operator: '<=', value: 1.1 } });
}

/** One request from zero. The interceptor tells its steps in Server-Timing, counted from the request's arrival there. */
async function throughPlatform({ ingress, url }: Subject): Promise<Steps> {
  const begun = performance.now();
  const answer = await ask(ingress.hostname, Number(ingress.port), url.host);
  const firstByte = performance.now() - begun;
  if (answer.status !== 200 || answer.coldStart !== 'true') throw new Error(`no cold start: ${JSON.stringify(answer)}`);
  const step = (name: string) => Number(new RegExp(`${name};dur=([\\d.]+)`).exec(answer.timing)?.[1] ?? Number.NaN);
  return { raised: step('svc-raised'), address: step('svc-address'), connect: step('svc-connect'), firstByte };
}

/** The scale written as kubectl would, then the pod's own address asked as soon as there is one. */
async function floor(subject: Subject): Promise<Steps> {
  const { pods } = subject;
  const found = new Promise<string>((resolve) => {
    const unsubscribe = pods.onChange(({ object }) => {
      if (object.status?.podIP === undefined) return;
      unsubscribe();
      resolve(object.status.podIP);
    });
  });
  const begun = performance.now();
  await setScale(subject, 1);
  const address = await found;
  const steps: Steps = { address: performance.now() - begun, connect: Number.NaN, firstByte: Number.NaN };
  for (;;) {
    const attemptedAt = performance.now();
    const answer = await ask(address, port, 'floor.test', () => (steps.connect = performance.now() - begun)).catch(
      () => undefined,
    );
    if (answer?.status === 200) return { ...steps, firstByte: performance.now() - begun };
    await systemClock.sleep(Math.max(0, attemptedAt + tryEveryMs - performance.now()));
  }
}

async function setScale({ kube, namespace, name }: Subject, replicas: number): Promise<void> {
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

async function toZero(subject: Subject): Promise<void> {
  await setScale(subject, 0);
  while (subject.pods.list().length > 0) await systemClock.sleep(50);
  await systemClock.sleep(restMs);
}

/** A GET on a connection of its own; resolves at the answer's first byte. */
function ask(
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
