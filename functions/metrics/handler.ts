import type { Pool } from 'pg';
import {
  appMetrics,
  functionMetrics,
  metricsQuery,
  resourceMetrics,
  topQuery,
  topView,
  type TopItem,
} from '../../runtime/contracts/api/metrics.ts';
import type { MetricsSources } from '../../runtime/api/metrics-sources.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { objectRoutes } from '../../runtime/api/object-routes.ts';
import { route, type Route } from '../../runtime/http/route.ts';
import { resolveEnvironment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { metricKinds, type MetricKind } from '../../runtime/metrics/figures.ts';
import type {
  MetricsStore,
  MetricsTarget,
  MetricsWindow,
  WorkloadHistory,
  WorkloadMoment,
} from '../../runtime/metrics/metrics-store.ts';
import { listDeploymentsSince } from '../../runtime/records/deployments.ts';
import { workloadIdOf, type EnvironmentObject } from '../../runtime/workloads/objects.ts';
import { appsWithIngress } from './ingress-services.ts';
import { countPods, type PodCounts } from './pods.ts';
import { missingFigures } from './missing-figures.ts';
import { createAsk } from './store.ts';
import { settledTime, windowOf } from './window.ts';

export interface MetricsDependencies {
  kube: Pick<KubeClient, 'get' | 'list'> & KubeClient;
  pool: Pool;
  clock: Clock;
  /** Absent when the installation has none. */
  store: MetricsStore | undefined;
  sources: MetricsSources;
}

const tag = 'metrics';
const access = { project: 'viewer', scope: 'read' } as const;
/** Workloads in `top`. */
const topMax = 500;
/** Of the values of `history`: 21 in an hour are enough for a small picture. */
const historyStepSeconds = 180;

/** The figures of workloads over time, and of all workloads of an environment now (docs/reference/metrics.md). */
export function createMetricsRoutes({ kube, pool, clock, store, sources }: MetricsDependencies): Route[] {
  const ask = createAsk(store, kube);

  const read = async (target: MetricsTarget, window: MetricsWindow, signal: AbortSignal) => {
    const { figures } = await ask(target.namespace, signal, (metricsStore) =>
      metricsStore.workload(target, window, signal),
    );
    const { from, to, step } = window;
    const notes = await missingFigures(target.kind, figures, sources);
    return {
      name: target.name,
      from: timeOf(from),
      to: timeOf(to),
      stepSeconds: step,
      figures,
      ...(notes.length > 0 && { notes }),
    };
  };

  const plain = (objectKind: 'Function' | 'Job' | 'Service', kind: MetricKind, view: Route['replies'][number]) =>
    objectRoutes<EnvironmentObject>(kube, objectKind).route({
      method: 'GET',
      path: '/metrics',
      access,
      tag,
      summary: `Shows the figures of a ${kind} over time.`,
      query: metricsQuery,
      replies: { 200: view ?? null },
      async handle({ query, environment: { namespace }, name, find, signal }) {
        const window = windowOf(query, clock.now());
        await find();
        return { status: 200, body: await read({ namespace, kind, name }, window, signal) };
      },
    });

  const app = objectRoutes<App>(kube, 'App').route({
    method: 'GET',
    path: '/metrics',
    access,
    tag,
    summary: 'Shows the figures of an app over time, with its deployments.',
    query: metricsQuery,
    replies: { 200: appMetrics },
    async handle({ query, environment: { namespace }, name, find, signal }) {
      const window = windowOf(query, clock.now());
      const object = await find();
      const apps = await appsWithIngress(kube, namespace);
      const target = apps.find((candidate) => candidate.name === name) ?? { namespace, kind: 'app', name };
      const [metrics, deployments] = await Promise.all([
        read(target, window, signal),
        listDeploymentsSince(pool, workloadIdOf(object), new Date(window.from * 1000), 100),
      ]);
      const marks = deployments.map(({ id, revision, state, acceptedAt }) => ({
        id,
        revision,
        state,
        at: acceptedAt.toISOString(),
      }));
      return { status: 200, body: { ...metrics, deployments: marks } };
    },
  });

  const top = route({
    method: 'GET',
    path: '/projects/:project/top',
    access,
    tag,
    summary: 'Shows what each workload of an environment uses now, by CPU.',
    query: topQuery,
    replies: { 200: topView },
    async handle({ params, query, signal }) {
      const { namespace } = await resolveEnvironment(kube, params.project, query.environment);
      const now = clock.now();
      const at = settledTime(now);
      const window = query.history ? windowOf({ range: '1h', step: historyStepSeconds }, now) : undefined;
      const [pods, answers] = await Promise.all([
        countPods(kube, namespace),
        ask(namespace, signal, async (metricsStore) => {
          const apps = await appsWithIngress(kube, namespace);
          return Promise.all([
            metricsStore.namespace(namespace, at, apps, signal),
            window ? metricsStore.history(namespace, window, apps, signal) : [],
          ]);
        }).catch((error: unknown) => {
          if (error instanceof Problem && error.code === 'metrics_unavailable') return error;
          throw error;
        }),
      ]);
      const failed = answers instanceof Problem;
      const [moments, histories] = failed ? [[], []] : answers;
      const items = itemsOf(pods, moments, histories);
      const body = {
        at: timeOf(at),
        ...(window && { window: { from: timeOf(window.from), to: timeOf(window.to), stepSeconds: window.step } }),
        items: items.slice(0, topMax),
        omitted: Math.max(0, items.length - topMax),
        ...(failed && { metricsUnavailable: answers.message }),
      };
      return { status: 200, body };
    },
  });

  return [
    app,
    plain('Function', 'function', functionMetrics),
    plain('Job', 'job', resourceMetrics),
    plain('Service', 'service', resourceMetrics),
    top,
  ];
}

/** The workloads with pods or figures, the one with most CPU first, then by memory and name. */
function itemsOf(
  pods: ReadonlyMap<string, PodCounts>,
  moments: readonly WorkloadMoment[],
  histories: readonly WorkloadHistory[],
): TopItem[] {
  const historiesByKey = new Map(histories.map((history) => [`${history.kind}/${history.name}`, history.figures]));
  const momentsByKey = new Map(moments.map((moment) => [`${moment.kind}/${moment.name}`, moment.figures]));
  const keys = new Set([...pods.keys(), ...momentsByKey.keys()]);
  const items = [...keys].flatMap((key): TopItem[] => {
    const [word, name = ''] = key.split('/');
    const kind = metricKinds.find((candidate) => candidate === word);
    if (!kind) return [];
    const figures = momentsByKey.get(key) ?? {};
    const history = historiesByKey.get(key);
    const counts = pods.get(key);
    return [
      {
        kind,
        name,
        cpuCores: figures.cpuCores ?? null,
        memoryBytes: figures.memoryBytes ?? null,
        requestsPerSecond: figures.requestsPerSecond ?? null,
        errorsPerSecond: figures.errorsPerSecond ?? null,
        latencyP95Seconds: figures.latencyP95Seconds ?? null,
        replicas: figures.replicas ?? counts?.pods ?? 0,
        readyReplicas: counts?.ready ?? 0,
        restarts: counts?.restarts ?? 0,
        ...(history && { history }),
      },
    ];
  });
  const by = (value: number | null) => value ?? -1;
  return items.toSorted(
    (one, other) =>
      by(other.cpuCores) - by(one.cpuCores) ||
      by(other.memoryBytes) - by(one.memoryBytes) ||
      one.name.localeCompare(other.name),
  );
}

function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}
