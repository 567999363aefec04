import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import { functionLimits, type FunctionResource } from '../../runtime/contracts/resources/function.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import type { Informer } from '../../runtime/kube/informer.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import { desiredReplicas } from './bands.ts';
import { createLoadReader, type EventLoads } from './event-loads.ts';
import { createLoadHistory } from './load-history.ts';
import { createReports, type FetchReport, type Traffic } from './reports.ts';

const tickEveryMs = 2_000;

/** The cache of an informer. */
type Objects<T extends KubeObject> = Pick<Informer<T>, 'list'>;

/** One that says whether it has changed. */
type Versioned<T extends KubeObject, Reads extends keyof Informer<T>> = Pick<Informer<T>, Reads | 'version'>;

/** The fields of a Deployment that the scaler reads. */
export interface ScaledDeployment extends KubeObject {
  spec?: { replicas?: number; strategy?: { type?: string } };
  status?: { replicas?: number };
}

export interface ScalerOptions {
  kube: Pick<KubeClient, 'replaceScale'>;
  functions: Versioned<FunctionResource, 'list'>;
  /** All Deployments, or at least those of functions. */
  deployments: Versioned<ScaledDeployment, 'get'>;
  /** The pods with the label `app=svc-interceptor` in the system namespace. */
  interceptors: Objects<Pod>;
  fetchReport: FetchReport;
  eventLoads: () => Promise<EventLoads>;
  /** Called when the problem of a function's event source changes. */
  onSourceChange: (resource: Stored<FunctionResource>) => void;
  clock: Clock;
  log: Logger;
  registry: Registry;
}

/**
 * Scales functions between their minimum and maximum replicas (default 0 and 10) by requests and events
 * (docs/reference/functions.md#scaling). Runs in the leader only.
 */
export interface Scaler {
  start(): void;
  stop(): Promise<void>;
  /** Scales all functions once; `start` calls it every 2 s. */
  tick(): Promise<void>;
}

/** A function, and its Deployment object as it was before the reports were fetched. */
interface Scalable {
  id: Id;
  resource: Stored<FunctionResource>;
  deployment: Stored<ScaledDeployment>;
}

/** The traffic of a function without a route. */
const noTraffic: Traffic = { inflight: 0, rate: 0, idleMs: Infinity };

export function createScaler(options: ScalerOptions): Scaler {
  const { kube, functions, deployments, interceptors, onSourceChange, clock, log, registry } = options;
  const reports = createReports({ fetch: options.fetchReport, clock, log });
  const readEventLoads = createLoadReader(options.eventLoads, { clock, log });
  const history = createLoadHistory(clock);
  const writes = new Counter({
    name: 'scaler_writes_total',
    help: 'Scale changes of functions, by direction.',
    labelNames: ['direction'],
    registers: [registry],
  });
  /**
   * Functions with their minimum of pods and without load: nothing changes until one of the objects does, or a request
   * arrives. Of thousands of functions, almost all.
   */
  const resting = new Map<Id, Scalable>();
  /** The others. */
  const awake = new Map<Id, Scalable>();
  /** What both caches were when all functions were last looked at. */
  let seen: readonly unknown[] = [];
  let stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();

  const writeScale = async (
    { metadata, status }: Stored<ScaledDeployment>,
    { from, to }: { from: number; to: number },
    reason: object,
  ): Promise<void> => {
    const { namespace = '', name, resourceVersion } = metadata;
    const currentReplicas = status?.replicas ?? 0;
    try {
      await kube.replaceScale({ namespace, name, resourceVersion, replicas: from, currentReplicas }, to);
      writes.inc({ direction: to > from ? 'up' : 'down' });
      log.info({ namespace, function: name, from, to, ...reason }, 'function scaled');
    } catch (error) {
      // After a concurrent change of the Deployment, the next tick decides again.
      if (!isKubeError(error, 409)) log.warn({ err: error, namespace, function: name }, 'cannot scale function');
    }
  };

  const scale = async (scalable: Scalable, loads: EventLoads | undefined): Promise<void> => {
    const { id, resource, deployment } = scalable;
    const { trigger, events: source, idleTimeoutSeconds } = resource.spec;
    const replicas = deployment.spec?.replicas ?? 1;
    const traffic = trigger === 'http' ? reports.traffic(id) : noTraffic;
    const eventLoad = loads?.get(id);
    const { events, ...load } = history.observe(id, traffic, source ? eventLoad?.backlog : 0);
    if (eventLoad && history.problemChanged(id, eventLoad.problem)) onSourceChange(resource);
    // The strategy for a volume that only one pod can mount.
    const limits = functionLimits(resource.spec, deployment.spec?.strategy?.type === 'Recreate');
    const desired = desiredReplicas({
      ...load,
      replicas,
      idleTimeoutMs: idleTimeoutSeconds * 1000,
      events: source && events,
      limits,
    });
    const { inflight, rate, idleMs } = traffic;
    if (desired === replicas) {
      if (replicas === limits.minReplicas && !source && inflight === 0 && rate === 0) {
        awake.delete(id);
        resting.set(id, scalable);
      }
      return;
    }
    const requests = trigger === 'http' && { inflight, rate: Math.round(rate), idleMs };
    const reason = { ...requests, ...(source && { backlog: events.backlog }) };
    await writeScale(deployment, { from: replicas, to: desired }, reason);
  };

  /** Rouses functions that have changed. A look at thousands takes milliseconds, so it needs a change of a cache. */
  const look = (): void => {
    const versions = [functions.version(), deployments.version()];
    if (versions.every((version, index) => version !== undefined && version === seen[index])) return;
    seen = versions;
    awake.clear();
    const present = new Set<Id>();
    for (const resource of functions.list()) {
      const { name, namespace, labels, deletionTimestamp } = resource.metadata;
      const id = labels?.[idLabel];
      const deployment = deployments.get(name, namespace);
      if (id === undefined || deletionTimestamp !== undefined || deployment?.metadata.labels?.[idLabel] !== id)
        continue;
      present.add(id);
      const before = resting.get(id);
      if (before?.resource === resource && before.deployment === deployment) continue;
      resting.delete(id);
      awake.set(id, { id, resource, deployment });
    }
    for (const id of resting.keys()) if (!present.has(id)) resting.delete(id);
  };

  const tick = async (): Promise<void> => {
    // Read before the reports, so that the write conflicts when an interceptor scales up meanwhile.
    look();
    const [loads] = await Promise.all([readEventLoads(), reports.refresh(interceptors.list())]);
    for (const id of reports.active()) {
      const roused = resting.get(id);
      if (roused && resting.delete(id)) awake.set(id, roused);
    }
    history.retain(new Set(awake.keys()));
    await Promise.all([...awake.values()].map((scalable) => scale(scalable, loads)));
  };

  const run = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await tick().catch((error: unknown) => log.error({ err: error }, 'scaler tick failed'));
      await clock.sleep(tickEveryMs, signal).catch(() => undefined);
    }
  };

  return {
    start() {
      stopping = new AbortController();
      history.clear();
      resting.clear();
      seen = [];
      running = run(stopping.signal);
    },
    async stop() {
      stopping.abort();
      await running;
    },
    tick,
  };
}
