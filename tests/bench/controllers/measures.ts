import type { KubeObject, ObjectRef } from '../../../runtime/contracts/kubernetes.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import type { Informer } from '../../../runtime/kube/informer.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { printFigure, type Target } from '../figure.ts';
import type { Sample } from './process-metrics.ts';

/** A sample takes svc-controllers tens of ms with thousands of workloads, so that more of them would slow it. */
const sampleMs = 1_000;
/** A queue that was empty for this long has nothing left: no event is still on its way through a watch. */
export const quietMs = 2_000;
const lookMs = 200;

export const say = (line: string) => process.stderr.write(`${line}\n`);

export const none = { operator: '<=', value: 0 } as const;

/** The measured svc-controllers. */
export interface Subject {
  /** The first part of the names of its figures. */
  prefix: string;
  sample: () => Promise<Sample | undefined>;
}

/** Waits until nothing is missing, and says every few seconds what still is. */
export async function untilComplete(missing: () => string[]): Promise<void> {
  const startedAt = performance.now();
  for (let progressAt = 0; ; await systemClock.sleep(lookMs)) {
    const rest = missing();
    if (rest.length === 0) return;
    if (performance.now() - progressAt <= 5_000) continue;
    progressAt = performance.now();
    say(`${((progressAt - startedAt) / 1000).toFixed(0)} s: ${rest.join(', ')}`);
  }
}

/** Waits until the queues were empty for a while. @returns also since when they are empty, on `performance.now` */
export async function settled(
  { sample }: Subject,
  holds: (now: Sample) => boolean = () => true,
): Promise<Sample & { quietAt: number }> {
  let quietSince: { at: number; passes: number } | undefined;
  for (;;) {
    const now = await sample();
    const quiet = now !== undefined && !now.busy && holds(now);
    if (!quiet || now.passes !== quietSince?.passes)
      quietSince = quiet ? { at: performance.now(), passes: now.passes } : undefined;
    else if (performance.now() - quietSince.at >= quietMs) return { ...now, quietAt: quietSince.at };
    await systemClock.sleep(sampleMs);
  }
}

/** What svc-controllers did for each workload between two samples, also where others slow it. */
export function printCreation({ prefix }: Subject, before: Sample, after: Sample, workloads: number): void {
  for (const unit of ['writes', 'reads', 'passes'] as const) {
    const value = (after[unit] - before[unit]) / workloads;
    printFigure({ name: `${prefix}.created.${unit}-each`, value, unit });
  }
  const cpu = ((after.cpuSeconds - before.cpuSeconds) * 1000) / workloads;
  printFigure({ name: `${prefix}.created.cpu-each`, value: cpu, unit: 'ms' });
  explain(before, after);
}

/** The requests, processor time and memory of svc-controllers while nothing changes. */
export async function measureIdle(
  subject: Subject,
  seconds: number,
  targets: { memory: Target; cpu?: Target },
): Promise<void> {
  const { prefix } = subject;
  const before = await settled(subject);
  say(`idle for ${seconds} s`);
  await systemClock.sleep(seconds * 1000);
  const after = await subject.sample();
  if (!after || after.pod !== before.pod) throw new Error('svc-controllers was replaced meanwhile');
  const measuredSeconds = (after.ageMs - before.ageMs) / 1000;
  const perSecond = (after.reads - before.reads) / measuredSeconds;
  const cpu = ((after.cpuSeconds - before.cpuSeconds) / measuredSeconds) * 100;
  printFigure({ name: `${prefix}.idle.writes`, value: after.writes - before.writes, unit: 'writes', target: none });
  printFigure({ name: `${prefix}.idle.reads`, value: perSecond, unit: '/s', target: { operator: '<', value: 1 } });
  printFigure({
    name: `${prefix}.idle.cpu`,
    value: cpu,
    unit: '% of a core',
    ...(targets.cpu && { target: targets.cpu }),
  });
  const megabytes = after.residentBytes / 2 ** 20;
  printFigure({ name: `${prefix}.idle.memory`, value: megabytes, unit: 'MB', target: targets.memory });
  explain(before, after);
}

/** One change of a workload's port. */
export interface PortChange {
  ref: ObjectRef;
  port: number;
}

/** The time from the change of a workload to its Deployment object, one at a time. */
export async function measureChanges(
  kube: KubeClient,
  { prefix }: Subject,
  deployments: Informer<KubeObject>,
  { count, change }: { count: number; change: (number: number) => PortChange },
): Promise<void> {
  say(`${count} changes, one at a time`);
  const times: number[] = [];
  for (let number = 0; number < count; number++) {
    const { ref, port } = change(number);
    const configChange = new Promise<void>((resolve) => {
      const unsubscribe = deployments.onChange(({ object }) => {
        const { name, namespace } = object.metadata;
        if (name !== ref.name || namespace !== ref.namespace || !hasPort(object, port)) return;
        unsubscribe();
        resolve();
      });
    });
    const startedAt = performance.now();
    await kube.mergePatch(ref, { spec: { port } });
    await configChange;
    times.push(performance.now() - startedAt);
  }
  times.sort((a, b) => a - b);
  const quantile = (part: number) => times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? Number.NaN;
  printFigure({ name: `${prefix}.change.p50`, value: quantile(0.5), unit: 'ms' });
  printFigure({
    name: `${prefix}.change.p99`,
    value: quantile(0.99),
    unit: 'ms',
    target: { operator: '<', value: 1_000 },
  });
}

function hasPort({ spec }: KubeObject, port: number): boolean {
  return JSON.stringify(spec).includes(`"containerPort":${port}`);
}

/** Prints the requests between two samples on stderr. */
export function explain(before: Sample | undefined, after: Sample): void {
  say(requestLines(before?.requests ?? {}, after.requests));
}

type Counts = Readonly<Record<string, number>>;

/** The requests between two counts, most frequent first, as lines for people. */
export function requestLines(before: Counts, after: Counts, max = Infinity): string {
  return Object.entries(after)
    .map(([request, count]) => ({ request, count: count - (before[request] ?? 0) }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count)
    .slice(0, max)
    .map(({ request, count }) => `  ${count} ${request}`)
    .join('\n');
}
