import { parseArgs } from 'node:util';
import { homeFolder } from '../../infra/local/home.ts';
import { readRunInfo } from '../../infra/run-info.ts';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { systemNamespace } from '../../runtime/domain/labels.ts';
import { createKubeClient } from '../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../runtime/kube/kubeconfig.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { uniqueName } from '../support/platform.ts';
import { sample, type Sample } from './controllers/process-metrics.ts';
import {
  createProject,
  createWorkloads,
  removeProject,
  watchObjects,
  type Counts,
  type Watched,
} from './controllers/workloads.ts';
import { printFigure } from './figure.ts';

/** A queue that was empty for this long has nothing left: no event is still on its way through a watch. */
const quietMs = 2_000;
const lookMs = 200;

const say = (line: string) => process.stderr.write(`${line}\n`);

/**
 * The controllers with many workloads on the real API server, none of which has a pod: the time until all of the
 * platform's own objects are written, until a new leader has settled, the requests of an idle one, and the time of a
 * change. Needs a running platform (`npm start`) that is otherwise unused. `--functions <n>` (1,000), `--apps <n>`
 * (200), `--idle-seconds <n>` (120), `--changes <n>` (200), `--keep`.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      functions: { type: 'string', default: '1000' },
      apps: { type: 'string', default: '200' },
      'idle-seconds': { type: 'string', default: '120' },
      changes: { type: 'string', default: '200' },
      keep: { type: 'boolean', default: false },
    },
  });
  const counts = { functions: Number(values.functions), apps: Number(values.apps) };
  const kube = createKubeClient(loadKubeConfig(readRunInfo(homeFolder(process.env)).kubeconfig));
  const project = uniqueName('bench');
  try {
    await createProject(kube, project);
    const namespace = `${project}-prod`;
    const watched = await watchObjects(kube, namespace);
    try {
      await creation(kube, project, counts, watched);
      await idle(kube, Number(values['idle-seconds']));
      await restart(kube, counts);
      await changes(kube, namespace, project, counts, watched, Number(values.changes));
    } finally {
      await watched.stop();
    }
  } finally {
    if (!values.keep) await removeProject(kube, project);
    await kube.close();
  }
}

async function creation(kube: KubeClient, project: string, counts: Counts, watched: Watched): Promise<void> {
  const startedAt = performance.now();
  const before = await settled(kube);
  const creating = createWorkloads(kube, project, counts).then(() => performance.now() - startedAt);
  for (let progressAt = 0; ; await systemClock.sleep(lookMs)) {
    const missing = watched.missing(counts);
    if (missing.length === 0) break;
    if (performance.now() - progressAt > 5_000) {
      progressAt = performance.now();
      say(`${((progressAt - startedAt) / 1000).toFixed(0)} s: ${missing.join(', ')}`);
    }
  }
  const seconds = (performance.now() - startedAt) / 1000;
  printFigure({ name: 'controllers.created.accepted', value: (await creating) / 1000, unit: 's' });
  printFigure({ name: 'controllers.created.written', value: seconds, unit: 's', target: { operator: '<', value: 90 } });
  const after = await settled(kube);
  const workloads = counts.functions + counts.apps;
  printFigure({
    name: 'controllers.created.writes-each',
    value: (after.writes - before.writes) / workloads,
    unit: 'writes',
  });
  printFigure({
    name: 'controllers.created.reads-each',
    value: (after.reads - before.reads) / workloads,
    unit: 'reads',
  });
  printFigure({
    name: 'controllers.created.passes-each',
    value: (after.passes - before.passes) / workloads,
    unit: 'passes',
  });
}

async function idle(kube: KubeClient, seconds: number): Promise<void> {
  const before = await settled(kube);
  say(`idle for ${seconds} s`);
  await systemClock.sleep(seconds * 1000);
  const after = await sample(kube);
  if (!after || after.pod !== before.pod) throw new Error('svc-controllers was replaced meanwhile');
  const perSecond = (after.reads - before.reads) / seconds;
  printFigure({ name: 'controllers.idle.writes', value: after.writes - before.writes, unit: 'writes', target: none });
  printFigure({ name: 'controllers.idle.reads', value: perSecond, unit: '/s', target: { operator: '<', value: 1 } });
  const megabytes = after.residentBytes / 2 ** 20;
  printFigure({ name: 'controllers.idle.memory', value: megabytes, unit: 'MB', target: { operator: '<', value: 300 } });
  explain(before, after);
}

const none = { operator: '<=', value: 0 } as const;

async function restart(kube: KubeClient, counts: Counts): Promise<void> {
  const { pod } = await settled(kube);
  say('a new leader');
  await kube.delete({ apiVersion: 'v1', kind: 'Pod', namespace: systemNamespace, name: pod });
  const workloads = counts.functions + counts.apps;
  const after = await settled(kube, (now) => now.pod !== pod && now.passes >= workloads);
  const seconds = (after.ageMs - quietMs) / 1000;
  printFigure({ name: 'controllers.restart.settled', value: seconds, unit: 's', target: { operator: '<', value: 15 } });
  printFigure({ name: 'controllers.restart.writes', value: after.writes, unit: 'writes', target: none });
  explain(undefined, after);
}

async function changes(
  kube: KubeClient,
  namespace: string,
  project: string,
  { functions }: Counts,
  { deployments }: Watched,
  count: number,
): Promise<void> {
  say(`${count} changes, one at a time`);
  const times: number[] = [];
  for (let number = 0; number < count; number++) {
    const name = `${project}-f${(number * 7919) % functions}`;
    const port = 9000 + number;
    const configChange = new Promise<void>((resolve) => {
      const unsubscribe = deployments.onChange(({ object }) => {
        if (object.metadata.name !== name || !hasPort(object, port)) return;
        unsubscribe();
        resolve();
      });
    });
    const startedAt = performance.now();
    const ref = { apiVersion: 'platform.svc/v1', kind: 'Function', namespace, name };
    await kube.mergePatch(ref, { spec: { port } });
    await configChange;
    times.push(performance.now() - startedAt);
  }
  times.sort((a, b) => a - b);
  const quantile = (part: number) => times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? Number.NaN;
  printFigure({ name: 'controllers.change.p50', value: quantile(0.5), unit: 'ms' });
  printFigure({
    name: 'controllers.change.p99',
    value: quantile(0.99),
    unit: 'ms',
    target: { operator: '<', value: 1_000 },
  });
}

function hasPort({ spec }: KubeObject, port: number): boolean {
  return JSON.stringify(spec).includes(`"containerPort":${port}`);
}

/** Waits until the queues were empty for a while. */
async function settled(kube: KubeClient, holds: (now: Sample) => boolean = () => true): Promise<Sample> {
  let quietSince: { at: number; passes: number } | undefined;
  for (;;) {
    const now = await sample(kube);
    const quiet = now !== undefined && !now.busy && holds(now);
    if (!quiet || now.passes !== quietSince?.passes)
      quietSince = quiet ? { at: performance.now(), passes: now.passes } : undefined;
    else if (performance.now() - quietSince.at >= quietMs) return now;
    await systemClock.sleep(lookMs);
  }
}

/** Prints the requests between two samples on stderr. */
function explain(before: Sample | undefined, after: Sample): void {
  const requestRates = Object.entries(after.requests)
    .map(([request, count]) => ({ request, count: count - (before?.requests[request] ?? 0) }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count);
  say(requestRates.map(({ request, count }) => `  ${count} ${request}`).join('\n'));
}
