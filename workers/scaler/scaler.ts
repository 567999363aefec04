import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import { functionLimits, type FunctionResource } from '../../runtime/contracts/resources/function.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import type { EventLoad } from '../../runtime/records/event-loads.ts';
import { wantedReplicas, type EventPressure, type Load } from './bands.ts';
import { createReports, type FetchReport, type Traffic } from './reports.ts';

const tickEveryMs = 2_000;
/** As interceptors have for their reports. */
const loadsTimeoutMs = 1_000;
/** Lowering (but to zero) looks back this far. */
const peakWindowMs = 60_000;

/** Objects as an informer has them. */
export interface Objects<T extends KubeObject> {
  list(): Stored<T>[];
}

/** What the scaler reads of a Deployment. */
export interface ScaledDeployment extends KubeObject {
  spec?: { replicas?: number; strategy?: { type?: string } };
  status?: { replicas?: number };
}

export interface ScalerOptions {
  kube: Pick<KubeClient, 'replaceScale'>;
  functions: Objects<FunctionResource>;
  /** All Deployments, or at least those of functions. */
  deployments: Objects<ScaledDeployment>;
  /** The pods with the label `app=svc-interceptor` in the system namespace. */
  interceptors: Objects<Pod>;
  fetchReport: FetchReport;
  /** What the data sources of functions ask of them, by the function's id. */
  eventLoads: () => Promise<ReadonlyMap<Id, EventLoad>>;
  /** Called when a function's data source begins to fail, fails otherwise, or is well again. */
  onSourceChange: (resource: Stored<FunctionResource>) => void;
  clock: Clock;
  log: Logger;
  registry: Registry;
}

/**
 * Scales functions between their least (zero, where they say nothing) and 10, by requests and events (design.md §7, §8).
 * Runs in the leader only.
 */
export interface Scaler {
  start(): void;
  stop(): Promise<void>;
  /** One look and its writes; `start` calls it every 2 s. Never rejects. */
  tick(): Promise<void>;
}

/** What was in flight, and waited of events, over the last minute. */
interface History {
  since: number;
  samples: { at: number; inflight: number; backlog: number }[];
  /** When there last were events, or might have been. */
  eventsAt: number;
  /** What was last said of the data source. */
  problem: string | null;
}

/** No request leads to a function without a route. */
const noTraffic: Traffic = { inflight: 0, idleMs: Infinity };

export function createScaler(options: ScalerOptions): Scaler {
  const { kube, functions, deployments, interceptors, eventLoads, onSourceChange, clock, log, registry } = options;
  const reports = createReports({ fetch: options.fetchReport, clock, log });
  const histories = new Map<string, History>();
  const writes = new Counter({
    name: 'scaler_writes_total',
    help: 'Scale changes of functions, by direction.',
    labelNames: ['direction'],
    registers: [registry],
  });
  let stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();

  let asked: Promise<ReadonlyMap<Id, EventLoad>> | undefined;

  /** @returns undefined when there is no answer in time: functions that requests call are not to wait for it */
  const lookAtEvents = async (): Promise<ReadonlyMap<Id, EventLoad> | undefined> => {
    asked ??= eventLoads().finally(() => (asked = undefined));
    const over = new AbortController();
    const limit = clock.sleep(loadsTimeoutMs, over.signal).then(() => {
      throw new Error(`no answer within ${loadsTimeoutMs} ms`);
    });
    try {
      return await Promise.race([asked, limit]);
    } catch (error) {
      log.warn({ err: error }, 'events not counted');
      return undefined;
    } finally {
      over.abort();
    }
  };

  const historyOf = (functionId: Id): History => {
    const now = clock.monotonic();
    const history = histories.get(functionId) ?? { since: now, samples: [], eventsAt: now, problem: null };
    histories.set(functionId, history);
    return history;
  };

  /** The load with the peaks of the last minute. */
  const observe = (
    history: History,
    { inflight, idleMs }: Traffic,
    backlog: number | undefined,
  ): Pick<Load, 'inflight' | 'idleMs' | 'peak'> & { events: EventPressure } => {
    const now = clock.monotonic();
    const sample = { at: now, inflight, backlog: backlog ?? 0 };
    history.samples = [...history.samples.filter(({ at }) => at > now - peakWindowMs), sample];
    if (backlog !== 0) history.eventsAt = now;
    const watched = now - history.since >= peakWindowMs;
    const peakOf = (what: 'inflight' | 'backlog') =>
      watched ? Math.max(...history.samples.map((each) => each[what])) : undefined;
    const events = { backlog, peak: peakOf('backlog'), quietMs: now - history.eventsAt };
    return { inflight, idleMs, peak: peakOf('inflight'), events };
  };

  const scale = async (
    resource: Stored<FunctionResource>,
    deployment: Stored<ScaledDeployment>,
    loads: ReadonlyMap<Id, EventLoad> | undefined,
  ): Promise<void> => {
    const { namespace, name } = resource.metadata;
    const id = resource.metadata.labels?.[idLabel];
    if (id === undefined || namespace === undefined || deployment.metadata.labels?.[idLabel] !== id) return;
    const { trigger, events: source, idleTimeoutSeconds } = resource.spec;
    const replicas = deployment.spec?.replicas ?? 1;
    const traffic = trigger === 'http' ? reports.traffic(id) : noTraffic;
    const history = historyOf(id);
    const load = loads?.get(id);
    const { events, ...requests } = observe(history, traffic, source ? load?.backlog : 0);
    if (load && load.problem !== history.problem) {
      history.problem = load.problem;
      onSourceChange(resource);
    }
    const wanted = wantedReplicas({
      ...{ ...requests, replicas, idleTimeoutMs: idleTimeoutSeconds * 1000 },
      events: source && events,
      // So it is for a volume that only one pod at a time may have.
      limits: functionLimits(resource.spec, deployment.spec?.strategy?.type === 'Recreate'),
    });
    if (wanted === replicas) return;
    const { resourceVersion } = deployment.metadata;
    const currentReplicas = deployment.status?.replicas ?? 0;
    try {
      await kube.replaceScale({ namespace, name, resourceVersion, replicas, currentReplicas }, wanted);
      writes.inc({ direction: wanted > replicas ? 'up' : 'down' });
      const { inflight, idleMs } = traffic;
      const because = { inflight, ...(trigger === 'http' && { idleMs }), ...(source && { backlog: events.backlog }) };
      log.info({ namespace, function: name, from: replicas, to: wanted, ...because }, 'function scaled');
    } catch (error) {
      // Somebody changed the Deployment since the look: the next one decides anew.
      if (!isKubeError(error, 409)) log.warn({ err: error, namespace, function: name }, 'function not scaled');
    }
  };

  const tick = async (): Promise<void> => {
    // Before the reports: a scale that an interceptor raises after this look makes the write fail.
    const byName = new Map(
      deployments.list().map((item) => [`${item.metadata.namespace}/${item.metadata.name}`, item]),
    );
    const current = functions.list().filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const [loads] = await Promise.all([lookAtEvents(), reports.refresh(interceptors.list())]);
    const ids = new Set(current.map(({ metadata }) => metadata.labels?.[idLabel]));
    for (const id of histories.keys()) if (!ids.has(id)) histories.delete(id);
    await Promise.all(
      current.map(async (resource) => {
        const deployment = byName.get(`${resource.metadata.namespace}/${resource.metadata.name}`);
        if (deployment) await scale(resource, deployment, loads);
      }),
    );
  };

  const run = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await tick().catch((error: unknown) => log.error({ err: error }, 'scaler look failed'));
      await clock.sleep(tickEveryMs, signal).catch(() => undefined);
    }
  };

  return {
    start() {
      stopping = new AbortController();
      histories.clear();
      running = run(stopping.signal);
    },
    async stop() {
      stopping.abort();
      await running;
    },
    tick,
  };
}
