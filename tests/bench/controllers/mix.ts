import { randomUUID } from 'node:crypto';
import type { KubeObject, Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { AppStatus } from '../../../runtime/contracts/resources/app.ts';
import type { FunctionStatus } from '../../../runtime/contracts/resources/function.ts';
import type { JobStatus } from '../../../runtime/contracts/resources/job.ts';
import { kinds, type ResourceKind } from '../../../runtime/contracts/resources/kinds.ts';
import type { Project } from '../../../runtime/contracts/resources/project.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { environmentsOf, type Environment } from '../../../runtime/kube/environments.ts';
import { createInformer, type Informer } from '../../../runtime/kube/informer.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { newObjectMetadata } from '../../../runtime/workloads/create.ts';
import { silentLog } from '../../support/log.ts';
import { runTogether } from './workloads.ts';

const image = 'registry.example/bench/hello:v1';
const environmentNames = ['prod', 'staging', 'dev'] as const;

/** Every tenth workload of each sort, in this order. */
const sorts = [
  'idle function',
  'app',
  'idle function',
  'app',
  'idle function',
  'running function',
  'idle function',
  'app',
  'running function',
  'job',
] as const;

type Sort = (typeof sorts)[number] | 'cron function';

/** The number of workloads of each kind and of pods. */
export interface MixCounts {
  Function: number;
  App: number;
  Job: number;
  pods: number;
}

/** Every second job is a function with a schedule instead. */
export function sortOf(number: number): Sort {
  const sort = sorts[number % sorts.length] ?? 'app';
  return sort === 'job' && Math.floor(number / sorts.length) % 2 === 1 ? 'cron function' : sort;
}

export function countMix(workloads: number): MixCounts {
  const all = Array.from({ length: workloads }, (_, number) => sortOf(number));
  const count = (...counted: Sort[]) => all.filter((sort) => counted.includes(sort)).length;
  return {
    Function: count('idle function', 'running function', 'cron function'),
    App: count('app'),
    Job: count('job'),
    pods: count('running function', 'app'),
  };
}

/** Two hours ago, every day: no run is due while the bench runs. */
const schedule = `0 ${(new Date().getUTCHours() + 22) % 24} * * *`;

/** One workload of the mix. */
function mixedWorkload(number: number, environment: Environment): KubeObject {
  const object = (kind: 'Function' | 'App' | 'Job', spec: object): KubeObject => ({
    apiVersion: 'platform.svc/v1',
    kind,
    metadata: newObjectMetadata(kind, `w${number}`, environment),
    spec,
  });
  const code = { runtime: 'node', code: `export const handler = () => ${number};` };
  const http = { ...code, trigger: 'http', port: 8080 };
  const builders: Readonly<Record<Sort, () => KubeObject>> = {
    'idle function': () => object('Function', http),
    'running function': () => object('Function', { ...http, minReplicas: 1 }),
    'cron function': () => object('Function', { ...code, trigger: 'cron', schedule }),
    job: () => object('Job', { image, schedule }),
    app: () => {
      // The release is what svc-workers write for the first deployment.
      const release = { generation: 1, deploymentId: randomUUID(), image };
      return object('App', { image, port: 8080, replicas: 1, release });
    },
  };
  return builders[sortOf(number)]();
}

/** The environments of all workloads, by the number of an environment. */
export function placeOf(number: number): { project: string; environment: string } {
  const project = `p${Math.floor(number / environmentNames.length)}`;
  return { project, environment: environmentNames[number % environmentNames.length] ?? 'prod' };
}

/** Creates the projects, and the workloads of each environment as soon as that is ready. */
export async function createMix(
  kube: KubeClient,
  { workloads, environments, projects }: { workloads: number; environments: number; projects: Informer<Project> },
): Promise<void> {
  const numbers = Array.from({ length: environments }, (_, number) => number);
  const ofProject = Map.groupBy(numbers, (number) => placeOf(number).project);
  const ready = async (project: string, name: string): Promise<Environment> => {
    for (;;) {
      const stored = projects.get(project);
      const environment = stored && environmentsOf(stored).find((each) => each.environment === name);
      if (environment?.ready) return environment;
      await systemClock.sleep(100);
    }
  };
  const { apiVersion, kind } = kinds.Project;
  await runTogether(
    [...ofProject].map(([name, places]) => async () => {
      const spec = { environments: places.map((number) => ({ name: placeOf(number).environment, id: newId() })) };
      await kube.create({ apiVersion, kind, metadata: { name }, spec });
      for (const place of places) {
        const environment = await ready(name, placeOf(place).environment);
        for (let number = place; number < workloads; number += environments)
          await kube.create(mixedWorkload(number, environment));
      }
    }),
  );
}

/** The workloads of the mix, as their statuses change. */
export interface WatchedMix {
  projects: Informer<Project>;
  /** Which kinds are not ready yet, such as `App 3 of 1500`. */
  missing(): string[];
  stop(): Promise<void>;
}

export async function watchMix(kube: KubeClient, counts: MixCounts): Promise<WatchedMix> {
  const follow = <T extends KubeObject>(kind: ResourceKind) =>
    createInformer<T>({ kube, kind, clock: systemClock, log: silentLog });
  const projects = follow<Project>(kinds.Project);
  const workloads = (['Function', 'App', 'Job'] as const).map((kind) => {
    const informer = follow<KubeObject>(kinds[kind]);
    const ready = new Set<string>();
    informer.onChange(({ object }) => {
      if (isReady(object)) ready.add(object.metadata.uid);
      else ready.delete(object.metadata.uid);
    });
    return { kind, informer, ready };
  });
  const informers = [projects, ...workloads.map(({ informer }) => informer)];
  for (const informer of informers) informer.start();
  await Promise.all(informers.map((informer) => informer.whenSynced()));
  return {
    projects,
    missing: () =>
      workloads
        .filter(({ kind, ready }) => ready.size < counts[kind])
        .map(({ kind, ready }) => `${kind} ${ready.size} of ${counts[kind]} ready`),
    async stop() {
      await Promise.all(informers.map((informer) => informer.stop()));
    },
  };
}

/** Whether the status says that the workload is as its spec demands. */
function isReady({ kind, metadata, spec, status = {} }: Stored<KubeObject>): boolean {
  const { observedGeneration } = status as { observedGeneration?: number };
  if (observedGeneration !== metadata.generation) return false;
  if (kind === 'Job') return (status as JobStatus).phase === 'scheduled';
  if (kind === 'App') {
    const { phase, readyReplicas, release } = status as AppStatus;
    return phase === 'running' && readyReplicas === 1 && release?.phase === 'available';
  }
  const { phase, readyReplicas } = status as FunctionStatus;
  const { trigger, minReplicas = 0 } = spec as { trigger?: string; minReplicas?: number };
  if (trigger === 'cron') return phase === 'scheduled';
  return minReplicas === 0 ? phase === 'idle' : phase === 'running' && readyReplicas === minReplicas;
}
