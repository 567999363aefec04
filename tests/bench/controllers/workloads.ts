import type { KubeObject, Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds, type ResourceKind } from '../../../runtime/contracts/resources/kinds.ts';
import type { EnvironmentLimits, Project } from '../../../runtime/contracts/resources/project.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { systemNamespace } from '../../../runtime/domain/labels.ts';
import { newObjectMetadata } from '../../../runtime/workloads/create.ts';
import { environmentsOf } from '../../../runtime/kube/environments.ts';
import { createInformer, type Informer } from '../../../runtime/kube/informer.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { silentLog } from '../../support/log.ts';

/** Concurrent creates. */
const together = 40;

export interface Counts {
  functions: number;
  apps: number;
}

/** The objects that the platform creates for the workloads of one namespace, as they appear. */
export interface Watched {
  /** Which kinds are not complete yet, such as `Deployment 3 of 1200`. */
  missing(counts: Counts): string[];
  /** Resolves at the next change of any of them. */
  deployments: Informer<KubeObject>;
  stop(): Promise<void>;
}

/** Creates a project with the environment `prod`, and waits until that is ready. */
export async function createProject(kube: KubeClient, name: string, limits: EnvironmentLimits = {}): Promise<void> {
  const { apiVersion, kind } = kinds.Project;
  const spec = { environments: [{ name: 'prod', id: newId(), limits }] };
  await kube.create({ apiVersion, kind, metadata: { name }, spec });
  for (;;) {
    const project = await kube.get<Project>(kinds.Project, name);
    if (project?.status?.phase === 'ready') return;
    await systemClock.sleep(200);
  }
}

/** Deletes the project, and waits until it is gone. */
export async function removeProject(kube: KubeClient, name: string): Promise<void> {
  const { apiVersion, kind } = kinds.Project;
  await kube.delete({ apiVersion, kind, name });
  while (await kube.get(kinds.Project, name)) await systemClock.sleep(1_000);
}

/** Creates the workloads as the management API would, all at once; none of them has a pod. */
export async function createWorkloads(kube: KubeClient, project: string, { functions, apps }: Counts): Promise<void> {
  const shop = await kube.get<Project>(kinds.Project, project);
  const environment = shop && environmentsOf(shop)[0];
  if (!environment) throw new Error('the project has no environment');
  const function_ = (number: number): KubeObject => ({
    apiVersion: 'platform.svc/v1',
    kind: 'Function',
    metadata: newObjectMetadata('Function', `${project}-f${number}`, environment),
    spec: { runtime: 'node', code: `export const handler = () => ${number};`, trigger: 'http', port: 8080 },
  });
  const app = (number: number): KubeObject => ({
    apiVersion: 'platform.svc/v1',
    kind: 'App',
    metadata: newObjectMetadata('App', `a${number}`, environment),
    spec: { image: 'localhost:5000/svc/hello:v1', port: 8080, replicas: 0 },
  });
  await runTogether([
    ...Array.from({ length: functions }, (_, number) => () => kube.create(function_(number))),
    ...Array.from({ length: apps }, (_, number) => () => kube.create(app(number))),
  ]);
}

/** Runs tasks in their order, some at a time. */
export async function runTogether(tasks: readonly (() => Promise<unknown>)[]): Promise<void> {
  const waiting = tasks.values();
  const work = async () => {
    for (const task of waiting) await task();
  };
  await Promise.all(Array.from({ length: together }, work));
}

/** Follows the objects that the platform creates for them. */
export async function watchObjects(kube: KubeClient, namespace: string): Promise<Watched> {
  const follow = (kind: ResourceKind, selection: object = { namespace }) =>
    createInformer<KubeObject>({ kube, kind, selection, clock: systemClock, log: silentLog });
  const informers = {
    Function: follow(kinds.Function),
    App: follow(kinds.App),
    Deployment: follow(kinds.Deployment),
    ConfigMap: follow(kinds.ConfigMap, { namespace, labelSelector: 'platform.svc/kind=Function' }),
    Service: follow(kinds.Service),
    WorkloadName: follow(kinds.WorkloadName),
    IngressRoute: follow(kinds.IngressRoute),
    HostName: follow(kinds.HostName, {}),
    FunctionRoute: follow(kinds.IngressRoute, {
      namespace: systemNamespace,
      labelSelector: 'platform.svc/kind=Function',
    }),
  };
  for (const informer of Object.values(informers)) informer.start();
  await Promise.all(Object.values(informers).map((informer) => informer.whenSynced()));
  const before = { HostName: informers.HostName.list().length, FunctionRoute: informers.FunctionRoute.list().length };
  return {
    deployments: informers.Deployment,
    missing({ functions, apps }) {
      const all = functions + apps;
      const counts: [string, number, number][] = [
        ['Deployment', informers.Deployment.list().length, all],
        ['ConfigMap', informers.ConfigMap.list().length, functions],
        ['Service', informers.Service.list().length, apps],
        ['WorkloadName', informers.WorkloadName.list().length, all],
        ['IngressRoute', informers.IngressRoute.list().length, apps],
        ['HostName', informers.HostName.list().length - before.HostName, all],
        ['IngressRoute of functions', informers.FunctionRoute.list().length - before.FunctionRoute, functions],
        ['status of functions', informers.Function.list().filter(isReported).length, functions],
        ['status of apps', informers.App.list().filter(isReported).length, apps],
      ];
      return counts
        .filter(([, count, expected]) => count < expected)
        .map(([kind, count, of]) => `${kind} ${count} of ${of}`);
    },
    async stop() {
      await Promise.all(Object.values(informers).map((informer) => informer.stop()));
    },
  };
}

/**
 * Whether the controller has reported for the object's current generation that all of its objects exist. When an app
 * without pods counts as available is decided by the cluster's own controllers.
 */
function isReported({ metadata, status }: Stored<KubeObject>): boolean {
  const { observedGeneration, phase = '' } = (status ?? {}) as { observedGeneration?: number; phase?: string };
  return observedGeneration === metadata.generation && ['idle', 'deploying', 'running'].includes(phase);
}
