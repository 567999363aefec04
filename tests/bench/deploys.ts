import { parseArgs } from 'node:util';
import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import { createKubeClient } from '../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../runtime/kube/kubeconfig.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { runningPlatform, uniqueName } from '../support/platform.ts';
import { residentBytes } from './controllers/process-metrics.ts';
import { createProject, removeProject } from './controllers/workloads.ts';
import { createCaller, createTargets, type Call, type Caller, type Target } from './deploys/callers.ts';
import { deploymentStates, durableCommits, platformDatabase } from './deploys/database.ts';
import { servingPairs } from './deploys/serving.ts';
import { median, printFigure } from './figure.ts';

/** Concurrent callers, for the rate. */
const together = 32;
/** The platform's limit per app; beyond it the limit would be measured. */
const burst = 100;
const say = (line: string) => process.stderr.write(`${line}\n`);

/**
 * Deploys on a running platform that is otherwise unused (`SVC_HOME`, else the one of `npm start`): the cost of
 * accepting one compared with a durable commit of the same PostgreSQL, the number accepted a second through the ingress
 * with none lost, many at once to their end, and the time until a new pod serves compared with kubectl. `--apps <n>`
 * (100), `--accepted <n>` (100), `--seconds <n>` (10), `--queued <n>` (1,000), `--pairs <n>` (10). A cluster's pods
 * must be reachable from this machine.
 */
export async function run(args: string[]): Promise<void> {
  const option = (value: string) => ({ type: 'string', default: value }) as const;
  const { values } = parseArgs({
    args,
    options: {
      apps: option('100'),
      accepted: option('100'),
      seconds: option('10'),
      queued: option('1000'),
      pairs: option('10'),
    },
  });
  const platform = await runningPlatform();
  const kube = createKubeClient(loadKubeConfig(platform.info.kubeconfig));
  const database = await platformDatabase(kube);
  const project = uniqueName('bench');
  const namespace = `${project}-prod`;
  const caller = createCaller(platform.info.ingress, together);
  try {
    await createProject(kube, project);
    const targets = await createTargets(platform, kube, project, Number(values.apps));
    await allEnded(database, namespace);
    // An app's first webhook reads the token from the cluster, once in the life of a console-api.
    for (const target of targets) await caller.deploy(target, 'registry.test/first:1');
    await allEnded(database, namespace);
    await acceptance(database, namespace, caller, targets, Number(values.accepted));
    await rate(database, namespace, caller, targets, Number(values.seconds));
    await queue(database, kube, namespace, caller, targets, Number(values.queued));
    const pairs = await servingPairs(platform, kube, project, Number(values.pairs), say);
    const ratio = median(pairs.map((pair) => pair.platform / pair.kubectl));
    printFigure({ name: 'deploys.serving', value: median(pairs.map((pair) => pair.platform)), unit: 'ms' });
    printFigure({ name: 'deploys.serving.kubectl', value: median(pairs.map((pair) => pair.kubectl)), unit: 'ms' });
    printFigure({ name: 'deploys.serving.ratio', value: ratio, unit: 'ratio', target: { operator: '<=', value: 1.1 } });
  } finally {
    await caller.close();
    await removeProject(kube, project);
    await database.end();
    await kube.close();
  }
}

/**
 * Alternates commit and call, so that both use the same disk, each alone and over a kept connection; each call waits
 * for the end of the previous rollout.
 */
async function acceptance(
  database: pg.Client,
  namespace: string,
  caller: Caller,
  targets: Target[],
  count: number,
): Promise<void> {
  const [commits, calls]: [number[], number[]] = [[], []];
  const commit = await durableCommits(database);
  for (let number = 0; number < count; number++) {
    commits.push(await commit.time());
    const { ms, status } = await caller.deploy(targetOf(targets, number), `registry.test/bench:${number}`);
    if (status !== 202) throw new Error(`a webhook answered ${status}`);
    calls.push(ms);
    await allEnded(database, namespace);
  }
  await commit.end();
  printFigure({ name: 'deploys.commit', value: median(commits), unit: 'ms' });
  printFigure({ name: 'deploys.accepted', value: median(calls), unit: 'ms' });
  const value = median(calls) / median(commits);
  printFigure({ name: 'deploys.accepted.ratio', value, unit: 'ratio', target: { operator: '<=', value: 3 } });
}

async function rate(
  database: pg.Client,
  namespace: string,
  caller: Caller,
  targets: Target[],
  seconds: number,
): Promise<void> {
  const startedAt = performance.now();
  let next = 0;
  const calls = await callTogether(
    () => performance.now() - startedAt < seconds * 1000 && next < targets.length * burst,
    () => caller.deploy(targetOf(targets, next), `registry.test/rate:${next++}`),
  );
  const took = (performance.now() - startedAt) / 1000;
  const accepted = calls.flatMap(({ status, id }) => (status === 202 && id !== undefined ? [id] : []));
  say(`${calls.length} calls, ${accepted.length} accepted, in ${took.toFixed(1)} s`);
  if (calls.some(({ status }) => status === 429)) throw new Error('too few apps for this rate: give more (--apps)');
  const value = accepted.length / took;
  printFigure({ name: 'deploys.accepted.rate', value, unit: '/s', target: { operator: '>=', value: 500 } });
  printFigure({ name: 'deploys.accepted.busy', value: median(calls.map(({ ms }) => ms)), unit: 'ms' });
  const stored = await deploymentStates(database, namespace, accepted);
  const total = Object.values(stored).reduce((sum, count) => sum + count, 0);
  printFigure({ name: 'deploys.accepted.lost', value: accepted.length - total, unit: 'deployments', target: none });
  await allEnded(database, namespace);
}

const none = { operator: '<=', value: 0 } as const;

/** Accepts them all, then waits for their ends; twice, since growing memory shows in the second half. */
async function queue(
  database: pg.Client,
  kube: KubeClient,
  namespace: string,
  caller: Caller,
  targets: Target[],
  count: number,
): Promise<void> {
  const ids: string[] = [];
  const megabytes: number[] = [];
  const startedAt = performance.now();
  for (const half of [0, 1]) {
    let remaining = count / 2;
    const calls = await callTogether(
      () => remaining-- > 0,
      () => caller.deploy(targetOf(targets, remaining + 1), `registry.test/queue:${half}-${remaining}`),
    );
    ids.push(...calls.flatMap(({ id }) => id ?? []));
    await allEnded(database, namespace);
    megabytes.push((await residentBytes(kube, 'svc-workers')) / 2 ** 20);
  }
  const { succeeded = 0, superseded = 0, ...others } = await deploymentStates(database, namespace, ids);
  say(`${ids.length} deployments: ${succeeded} succeeded, ${superseded} superseded, ${JSON.stringify(others)}`);
  const value = count - succeeded - superseded;
  printFigure({ name: 'deploys.queued.failures', value, unit: 'deployments', target: none });
  printFigure({ name: 'deploys.queued.ended', value: (performance.now() - startedAt) / 1000, unit: 's' });
  const [first = 0, second = 0] = megabytes;
  printFigure({ name: 'deploys.queued.memory', value: second, unit: 'MB' });
  printFigure({
    name: 'deploys.queued.memory.growth',
    value: second / first,
    unit: 'ratio',
    target: { operator: '<=', value: 1.1 },
  });
}

async function callTogether(more: () => boolean, call: () => Promise<Call>): Promise<Call[]> {
  const calls: Call[] = [];
  const work = async () => {
    while (more()) calls.push(await call());
  };
  await Promise.all(Array.from({ length: together }, work));
  return calls;
}

async function allEnded(database: pg.Client, namespace: string): Promise<void> {
  for (;;) {
    const { accepted = 0, building = 0, rolling_out: rolling = 0 } = await deploymentStates(database, namespace);
    if (accepted + building + rolling === 0) return;
    await wait(50);
  }
}

function targetOf(targets: Target[], number: number): Target {
  const target = targets[number % targets.length];
  if (!target) throw new Error('there are no apps');
  return target;
}
