import { parseArgs } from 'node:util';
import { systemClock } from '../../runtime/domain/clock.ts';
import { createKubeClient } from '../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../runtime/kube/kubeconfig.ts';
import { runningPlatform, uniqueName, type Platform } from '../support/platform.ts';
import {
  ask,
  createSubject,
  genericPod,
  setScale,
  throughPlatform,
  toZero,
  type Steps,
  type Subject,
} from './cold-start/subject.ts';
import { median, printFigure } from './figure.ts';

/** The client of the floor retries at this interval, as the interceptor does. */
const tryEveryMs = 20;
/**
 * Time to the first byte of a function at zero, through Traefik and interceptor, compared with the floor: the same
 * Deployment scaled from zero by an API call, and its pod polled directly until it answers. Pairs in one run, in
 * alternating order. Needs a running platform (`npm start`); `--pairs <n>` (30). `--warm <n>` (0): on a cluster, also as many
 * starts in generic pods (docs/decisions/0098-warm-pool.md); the pairs are measured without these.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: { pairs: { type: 'string', default: '30' }, warm: { type: 'string', default: '0' } },
  });
  const [pairs, warm] = [Number(values.pairs), Number(values.warm)];
  const platform = await runningPlatform();
  const project = uniqueName('bench');
  const kube = createKubeClient(loadKubeConfig(platform.info.kubeconfig));
  try {
    await platform.ok(['project', 'create', project, '--environment', 'prod']);
    const subject = await createSubject(platform, kube, project);
    try {
      if (warm > 0) await setWarmPods(platform, 0);
      if (pairs > 0) report(await measure(subject, pairs));
      if (warm > 0) {
        await setWarmPods(platform, 1);
        reportWarm(await measureWarm(subject, warm));
      }
    } finally {
      if (warm > 0) await setWarmPods(platform, 'default');
      await subject.pods.stop();
    }
  } finally {
    await platform.ok(['project', 'delete', project, '--yes']);
    await kube.close();
  }
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

/** Starts in generic pods, each after the pool is full again and the machine is idle. */
async function measureWarm(subject: Subject, starts: number): Promise<Steps[]> {
  const results: Steps[] = [];
  while (results.length < starts) {
    await toZero(subject);
    await genericPod(subject);
    results.push(await throughPlatform(subject));
    process.stderr.write(`warm start ${results.length}: ${results.at(-1)?.firstByte.toFixed(0)} ms\n`);
  }
  return results;
}

function reportWarm(starts: readonly Steps[]): void {
  const times = starts.map(({ firstByte }) => firstByte).sort((a, b) => a - b);
  const quantile = (part: number) => times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? Number.NaN;
  for (const step of ['raised', 'address', 'connect'] as const) {
    const value = median(starts.map((entry) => entry[step] ?? Number.NaN));
    printFigure({ name: `cold-start.warm.${step}`, value, unit: 'ms' });
  }
  const name = 'cold-start.warm.first-byte';
  printFigure({ name: `${name}.p50`, value: quantile(0.5), unit: 'ms', target: { operator: '<', value: 300 } });
  printFigure({ name: `${name}.p99`, value: quantile(0.99), unit: 'ms', target: { operator: '<', value: 600 } });
}

async function setWarmPods(platform: Platform, count: number | 'default'): Promise<void> {
  await platform.ok(['platform', 'config', 'set', '--warm-pods', String(count)]);
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

/** Writes the scale as kubectl does, then polls the pod's address as soon as it has one. */
async function floor(subject: Subject): Promise<Steps> {
  const { pods } = subject;
  const address = new Promise<{ host: string; port: number }>((resolve) => {
    const unsubscribe = pods.onChange(({ object: { spec, status } }) => {
      // The embedded cluster gives each pod its own port instead of an address.
      const port = spec.containers[0]?.ports?.[0]?.containerPort;
      if (status?.podIP === undefined || port === undefined) return;
      unsubscribe();
      resolve({ host: status.podIP, port });
    });
  });
  const startedAt = performance.now();
  await setScale(subject, 1);
  const { host, port } = await address;
  const steps: Steps = { address: performance.now() - startedAt, connect: Number.NaN, firstByte: Number.NaN };
  for (;;) {
    const attemptedAt = performance.now();
    const answer = await ask(host, port, 'floor.test', () => (steps.connect = performance.now() - startedAt)).catch(
      () => undefined,
    );
    if (answer?.status === 200) return { ...steps, firstByte: performance.now() - startedAt };
    await systemClock.sleep(Math.max(0, attemptedAt + tryEveryMs - performance.now()));
  }
}
