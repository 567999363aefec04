import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import { functionLimits, type FunctionResource } from '../../runtime/contracts/resources/function.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import { wantedReplicas } from './bands.ts';
import { createReports, type FetchReport } from './reports.ts';

const tickEveryMs = 2_000;
/** Lowering (but to zero) looks back this far. */
const peakWindowMs = 60_000;

/** Objects as an informer has them. */
export interface Objects<T extends KubeObject> {
  list(): Stored<T>[];
}

/** What the scaler reads of a Deployment. */
export interface ScaledDeployment extends KubeObject {
  spec?: { replicas?: number };
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
  clock: Clock;
  log: Logger;
  registry: Registry;
}

/** Scales HTTP functions between their least (zero, where they say nothing) and 10 (design.md §7). Runs in the leader only. */
export interface Scaler {
  start(): void;
  stop(): Promise<void>;
  /** One look and its writes; `start` calls it every 2 s. Never rejects. */
  tick(): Promise<void>;
}

/** What was in flight, over the last minute. */
interface History {
  since: number;
  samples: { at: number; inflight: number }[];
}

export function createScaler(options: ScalerOptions): Scaler {
  const { kube, functions, deployments, interceptors, clock, log, registry } = options;
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

  const peakOf = (functionId: string, inflight: number): number | undefined => {
    const now = clock.monotonic();
    const history = histories.get(functionId) ?? { since: now, samples: [] };
    histories.set(functionId, history);
    history.samples = [...history.samples.filter(({ at }) => at > now - peakWindowMs), { at: now, inflight }];
    if (now - history.since < peakWindowMs) return undefined;
    return Math.max(...history.samples.map((sample) => sample.inflight));
  };

  const scale = async (resource: Stored<FunctionResource>, deployment: Stored<ScaledDeployment>): Promise<void> => {
    const { namespace, name } = resource.metadata;
    const id = resource.metadata.labels?.[idLabel];
    if (id === undefined || namespace === undefined || deployment.metadata.labels?.[idLabel] !== id) return;
    const replicas = deployment.spec?.replicas ?? 1;
    const { inflight, idleMs } = reports.traffic(id);
    const idleTimeoutMs = resource.spec.idleTimeoutSeconds * 1000;
    const limits = functionLimits(resource.spec);
    const wanted = wantedReplicas({ replicas, inflight, peak: peakOf(id, inflight), idleMs, idleTimeoutMs, limits });
    if (wanted === replicas) return;
    const { resourceVersion } = deployment.metadata;
    const currentReplicas = deployment.status?.replicas ?? 0;
    try {
      await kube.replaceScale({ namespace, name, resourceVersion, replicas, currentReplicas }, wanted);
      writes.inc({ direction: wanted > replicas ? 'up' : 'down' });
      log.info({ namespace, function: name, from: replicas, to: wanted, inflight, idleMs }, 'function scaled');
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
    await reports.refresh(interceptors.list());
    const ids = new Set(current.map(({ metadata }) => metadata.labels?.[idLabel]));
    for (const id of histories.keys()) if (!ids.has(id)) histories.delete(id);
    await Promise.all(
      current.map(async (resource) => {
        const deployment = byName.get(`${resource.metadata.namespace}/${resource.metadata.name}`);
        if (deployment) await scale(resource, deployment);
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
