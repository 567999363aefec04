import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { lineProgress } from '../../infra/testcluster/progress.ts';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { migrate } from '../../runtime/db/migrate.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { managedByLabel, managedByValue } from '../../runtime/domain/labels.ts';
import { namespaceOf } from '../../runtime/domain/names.ts';
import { createInformer } from '../../runtime/kube/informer.ts';
import { silentLog } from '../support/log.ts';
import { query } from '../support/postgres.ts';
import { killServer, startPostgres } from '../support/servers.ts';
import { requestCounts } from './controllers/api-server-requests.ts';
import { startFakeNodes, type FakeNodesCluster } from './controllers/fake-nodes.ts';
import {
  explain,
  measureChanges,
  measureIdle,
  none,
  printCreation,
  requestLines,
  say,
  settled,
  untilComplete,
  type Subject,
} from './controllers/measures.ts';
import { countMix, createMix, placeOf, sortOf, watchMix } from './controllers/mix.ts';
import {
  installForControllers,
  startControllers,
  type ControllersOptions,
  type OwnControllers,
} from './controllers/own-controllers.ts';
import { printFigure } from './figure.ts';
import { isMachineFree } from './gate/cores.ts';

const prefix = 'controllers-at-size';
const requestsShown = 25;
const memory = { operator: '<=', value: 400 } as const;

interface Size {
  workloads: number;
  environments: number;
}

/**
 * svc-controllers with `--workloads <n>` (5,000) in `--environments <n>` (300), against an API server of its own whose
 * nodes are KWOK's: apps and functions with one pod, functions at zero, and schedules. Measures the time until every
 * status says ready, the requests for each workload, the cost at rest (`--idle-seconds <n>`, 120), a new leader, and the
 * time of a change (`--changes <n>`, 200). `--profile <folder>` writes processor profiles of svc-controllers, which
 * slows it; `--on-a-busy-machine` measures beside other programs. Needs PostgreSQL, Go and about 8 GB of memory; builds
 * what the test cluster has not built yet.
 */
export async function run(args: string[]): Promise<void> {
  const option = (value: string) => ({ type: 'string', default: value }) as const;
  const { values } = parseArgs({
    args,
    options: {
      workloads: option('5000'),
      environments: option('300'),
      'idle-seconds': option('120'),
      changes: option('200'),
      profile: { type: 'string' },
      'on-a-busy-machine': { type: 'boolean', default: false },
    },
  });
  if (!(await isMachineFree(prefix, values['on-a-busy-machine']))) return;
  const size = { workloads: Number(values.workloads), environments: Number(values.environments) };
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-controllers-'));
  const ends: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 })];
  const end = async () => {
    for (let next = ends.pop(); next; next = ends.pop()) await next();
  };
  // What it started has sessions of its own, and would outlive it.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      void end().finally(() => process.exit(1));
    });
  }
  try {
    const store = await startPostgres(folder);
    ends.push(() => killServer(store.pid, 'SIGQUIT'));
    await query(`${store.url}/postgres`, 'CREATE DATABASE svc');
    const databaseUrl = `${store.url}/svc`;
    await migrate({ url: databaseUrl, clock: systemClock, log: silentLog });
    const cluster = await startFakeNodes(join(folder, 'cluster'), countMix(size.workloads).pods * 2, lineProgress(say));
    ends.push(() => cluster.stop());
    await installForControllers(cluster);
    const profileFolder = values.profile === undefined ? undefined : resolve(values.profile);
    await measure(cluster, { folder, databaseUrl, profileFolder }, size, {
      idleSeconds: Number(values['idle-seconds']),
      changes: Number(values.changes),
      onEnd: (work) => ends.push(work),
    });
  } finally {
    await end();
  }
}

async function measure(
  cluster: FakeNodesCluster,
  options: ControllersOptions,
  size: Size,
  { idleSeconds, changes, onEnd }: { idleSeconds: number; changes: number; onEnd: (work: () => unknown) => void },
): Promise<void> {
  let controllers = await startControllers(cluster, options);
  onEnd(() => controllers.stop());
  const subject: Subject = { prefix, sample: () => controllers.sample() };
  const requireAll = () => {
    cluster.requireAll();
    controllers.requireRunning();
  };
  await creation(cluster, subject, size, requireAll);
  printMemory('created', controllers);
  await measureIdle(subject, idleSeconds, { memory, cpu: { operator: '<', value: 2 } });
  await restart(subject, size, async () => {
    await controllers.stop();
    controllers = await startControllers(cluster, options);
  });
  printMemory('restart', controllers);
  await change(cluster, subject, size, changes);
  printMemory('change', controllers);
}

function printMemory(phase: string, controllers: OwnControllers): void {
  const value = controllers.peakBytes() / 2 ** 20;
  printFigure({ name: `${prefix}.${phase}.memory-peak`, value, unit: 'MB', target: memory });
}

/** From an API server without projects to statuses that all say ready. */
async function creation(
  { kube, kubectl }: FakeNodesCluster,
  subject: Subject,
  { workloads, environments }: Size,
  requireAll: () => void,
): Promise<void> {
  const readCounts = async () => requestCounts(await kubectl('get', '--raw=/metrics'));
  const watched = await watchMix(kube, countMix(workloads));
  try {
    const before = await settled(subject);
    const countsBefore = await readCounts();
    const startedAt = performance.now();
    const creating = createMix(kube, { workloads, environments, projects: watched.projects }).then(
      () => performance.now() - startedAt,
    );
    await untilComplete(() => {
      requireAll();
      return watched.missing();
    });
    const seconds = (performance.now() - startedAt) / 1000;
    printFigure({ name: `${prefix}.created.accepted`, value: (await creating) / 1000, unit: 's' });
    printFigure({ name: `${prefix}.created.ready`, value: seconds, unit: 's', target: { operator: '<', value: 300 } });
    printCreation(subject, before, await settled(subject), workloads);
    const counts = await readCounts();
    for (const unit of ['reads', 'writes'] as const) {
      const value = (counts[unit] - countsBefore[unit]) / workloads;
      printFigure({ name: `${prefix}.created.api-server-${unit}-each`, value, unit });
    }
    const cpu = ((counts.cpuSeconds - countsBefore.cpuSeconds) * 1000) / workloads;
    printFigure({ name: `${prefix}.created.api-server-cpu-each`, value: cpu, unit: 'ms' });
    say(`requests of all clients:\n${requestLines(countsBefore.each, counts.each, requestsShown)}`);
  } finally {
    await watched.stop();
  }
}

/** From the SIGTERM to the leader until the next one has nothing left to do. */
async function restart(subject: Subject, size: Size, replace: () => Promise<void>): Promise<void> {
  await settled(subject);
  say('a new leader');
  const startedAt = performance.now();
  await replace();
  const after = await settled(subject, ({ passes }) => passes >= size.workloads);
  printFigure({
    name: `${prefix}.restart.settled`,
    value: (after.quietAt - startedAt) / 1000,
    unit: 's',
    target: { operator: '<', value: 20 },
  });
  printFigure({ name: `${prefix}.restart.writes`, value: after.writes, unit: 'writes', target: none });
  printFigure({ name: `${prefix}.restart.reads-each`, value: after.reads / size.workloads, unit: 'reads' });
  explain(undefined, after);
}

/** Changes the ports of apps and functions one after the other. */
async function change(
  { kube }: FakeNodesCluster,
  subject: Subject,
  { workloads, environments }: Size,
  count: number,
): Promise<void> {
  const selection = { labelSelector: `${managedByLabel}=${managedByValue}` };
  const deployments = createInformer<KubeObject>({
    kube,
    kind: kinds.Deployment,
    selection,
    clock: systemClock,
    log: silentLog,
  });
  deployments.start();
  await deployments.whenSynced();
  const numbers = Array.from({ length: workloads }, (_, number) => number).filter(
    (number) => !['job', 'cron function'].includes(sortOf(number)),
  );
  try {
    await measureChanges(kube, subject, deployments, {
      count,
      change: (index) => {
        const number = numbers[(index * 7919) % numbers.length] ?? 0;
        const { project, environment } = placeOf(number % environments);
        const kind = sortOf(number) === 'app' ? 'App' : 'Function';
        const namespace = namespaceOf(project, environment);
        return { ref: { apiVersion: 'platform.svc/v1', kind, namespace, name: `w${number}` }, port: 9000 + index };
      },
    });
  } finally {
    await deployments.stop();
  }
}
