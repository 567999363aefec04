import {
  appDeployment,
  appMiddlewares,
  appRoute,
  appService,
  type AppManifestInput,
} from '../../infra/manifests/app.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import type { HostName } from '../../runtime/contracts/resources/claims.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { publicUrl, type PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { checkImage } from '../../runtime/domain/image.ts';
import { idLabel, roleLabel, workloadFinalizer } from '../../runtime/domain/labels.ts';
import { appHost, checkHost } from '../../runtime/domain/names.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { ChildError, deleteChild, ensureChild, NotYetError, refOf } from '../../runtime/kube/children.ts';
import { releaseHosts, releaseName } from '../../runtime/kube/claims.ts';
import { reconcileFailed } from '../../runtime/kube/conditions.ts';
import type { ControllerDefinition, Key } from '../../runtime/kube/controller.ts';
import type { EventRecorder } from '../../runtime/kube/events.ts';
import { removeFinalizer } from '../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../runtime/kube/status.ts';
import type { WorkloadProjection } from '../../runtime/records/workloads.ts';
import { gateOutcome, gateStep, mustAsk, type GateSight, type GateStep } from './app-gate.ts';
import { othersGoneInMs, type Deployment } from './app-release.ts';
import { observedStatus, stoppedStatus } from './app-status.ts';
import type { ProbeGate } from './gate-probe.ts';
import { ensureIdentity, holdClaims, identityOf, type WorkloadIdentity } from './workload.ts';

/** A status that changes brings another pass at once; the ingress is not asked more often than this, per app. */
const probePauseMs = 400;

/** Without the installation's settings nothing can be done; a change of them brings every app anyway. */
const configRetryMs = 5_000;

export interface AppControllerOptions {
  kube: KubeClient;
  /** The installation's settings, once there are some. */
  platformConfig: () => PlatformConfigSpec | undefined;
  /** What the controller writes into PostgreSQL; every call may be repeated. */
  records: {
    project(workload: WorkloadProjection): Promise<void>;
    /** Accepts the app's first deployment, and nothing when it has one. */
    deployFirst(id: Id, image: string): Promise<void>;
    markDeleted(id: Id): Promise<void>;
  };
  events: Pick<EventRecorder, 'record'>;
  /** Asks the ingress whether a route demands a key. */
  probeGate: ProbeGate;
  clock: Clock;
}

/**
 * Makes an App real: holds its name and host, projects it into the records, accepts its first deployment, keeps the
 * objects of its release as they should be, and reports how far the release has come.
 */
export function appController(options: AppControllerOptions): ControllerDefinition<App> {
  const { kube, platformConfig, records, events, probeGate, clock } = options;
  const probedAt = new Map<string, number>();

  const bringAbout = async (object: Stored<App>, config: PlatformConfigSpec, signal: AbortSignal) => {
    const { workload: app, identity } = await ensureIdentity(kube, object);
    const { spec } = app;
    const host =
      spec.hostname === undefined
        ? appHost(identity.name, identity.namespace, config.appsDomain)
        : checkHost(spec.hostname);
    await holdClaims(kube, app, host);
    const step = gateStep(app, clock.now());
    // The checkers know of the gate before any route asks them (spec.md §3.2).
    await records.project({ ...identity, kind: 'App', gated: step.known });
    const { release } = spec;
    let changed = false;
    if (release) {
      const input = { ...identity, spec, release, host, entryPoints: config.entryPoints, gated: step.demanded };
      changed = await ensureObjects(app, input, step);
    } else {
      await records.deployFirst(identity.id, checkImage(spec.image));
    }
    // The host that the app had before serves until the route has moved.
    await releaseHosts(kube, identity.id, host);
    const seen = release ? await observe(app, identity) : { deployment: undefined, pods: [] };
    const ingress = config.ingressAddress;
    const sight: GateSight = { routed: release !== undefined, changed, ingress };
    if (mustAsk(step, sight)) sight.answer = await ask(app, ingress, new URL(publicUrl(config, host)).host, signal);
    else probedAt.delete(app.metadata.uid);
    const now = clock.now();
    const gate = gateOutcome(app, step, sight, now);
    const after = await writeStatus<App>(kube, app, observedStatus({ app, host, config, gate, ...seen, now }));
    if (gate.event) await events.record(after, gate.event);
    const othersGoneMs = release && seen.deployment ? othersGoneInMs(seen.pods, release.generation, now) : 0;
    const waits = [gate.againInMs ?? 0, othersGoneMs].filter((ms) => ms > 0);
    return waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...waits) };
  };

  /** @returns whether the route was not as it should be */
  const ensureObjects = async (app: Stored<App>, input: AppManifestInput, gate: GateStep): Promise<boolean> => {
    if (gate.demanded) for (const middleware of appMiddlewares(input)) await ensureChild(kube, app, middleware);
    await ensureChild(kube, app, appDeployment(input));
    await ensureChild(kube, app, appService(input));
    const route = await ensureChild(kube, app, appRoute(input));
    // The route no longer names them.
    if (gate.dismantle) for (const middleware of appMiddlewares(input)) await deleteChild(kube, app, refOf(middleware));
    return route !== 'unchanged';
  };

  /** What the ingress answers for the app; undefined when nobody can be asked, or was a moment ago. */
  const ask = async (
    { metadata: { uid } }: Stored<App>,
    address: string | undefined,
    host: string,
    signal: AbortSignal,
  ) => {
    if (address === undefined) return undefined;
    const before = probedAt.get(uid);
    if (before !== undefined && clock.monotonic() - before < probePauseMs) return undefined;
    const answer = await probeGate({ address, host, signal });
    probedAt.set(uid, clock.monotonic());
    return answer;
  };

  const observe = async ({ spec, status }: Stored<App>, { id, name, namespace }: WorkloadIdentity) => {
    const deployment = await kube.get<Deployment>(kinds.Deployment, name, namespace);
    const { readyReplicas = 0 } = deployment?.status ?? {};
    const settled = status?.release?.phase === 'available' && status.release.generation === spec.release?.generation;
    if (settled && deployment && readyReplicas === deployment.spec.replicas) return { deployment, pods: [] };
    // The pods know why something is not ready, and which releases still get requests.
    const { items } = await kube.list<Pod>(kinds.Pod, {
      namespace,
      labelSelector: `${idLabel}=${id},${roleLabel}=serve`,
    });
    return { deployment, pods: items };
  };

  /** What a person has to clear up is reported where people look; the rest is the back-off's. */
  const reportStop = async (app: Stored<App>, reason: string): Promise<void> => {
    const live = await kube.get<App>(kinds.App, app.metadata.name, app.metadata.namespace);
    if (live?.metadata.uid !== app.metadata.uid) return;
    await writeStatus<App>(kube, live, stoppedStatus(live, reason, clock.now()));
    await events.record(live, { type: 'Warning', reason: reconcileFailed, message: reason });
  };

  /** Everything of the app goes before the app does, so that the next one of its name meets nothing of it. */
  const finalize = async (app: Stored<App>): Promise<void> => {
    const identity = identityOf(app);
    if (identity) {
      const refs = childRefs(identity);
      const gone = [];
      for (const ref of refs) gone.push(await deleteChild(kube, app, ref));
      if (gone.includes(false)) throw new NotYetError('objects of the app are still being deleted');
      await releaseHosts(kube, identity.id);
      await records.markDeleted(identity.id);
      await releaseName(kube, app);
    }
    probedAt.delete(app.metadata.uid);
    await removeFinalizer(kube, app, workloadFinalizer);
  };

  return {
    name: 'App',
    kind: kinds.App,
    owns: [kinds.Deployment, kinds.Service, kinds.IngressRoute, kinds.Middleware],
    watches: [
      // A name or host that is given back may be one that an app waits for.
      { kind: kinds.WorkloadName, keysOf: ({ metadata }) => [keyOf(metadata)] },
      {
        kind: kinds.HostName,
        // A claim that is taken away from its holder is made again.
        keysOf: (host, apps) => [
          ...holderOf(host as Stored<HostName>),
          ...(apps() as Stored<App>[]).filter(hasFailed).map(({ metadata }) => keyOf(metadata)),
        ],
      },
    ],
    async reconcile({ object: app, signal }) {
      if (!app) return undefined;
      if (app.metadata.deletionTimestamp !== undefined) return finalize(app);
      const config = platformConfig();
      if (!config) return { requeueAfterMs: configRetryMs };
      try {
        return await bringAbout(app, config, signal);
      } catch (error) {
        if (error instanceof Problem || error instanceof ChildError) await reportStop(app, error.message);
        throw error;
      }
    },
  };
}

/** In the order of deletion: first nothing leads to the app any more. */
function childRefs({ name, namespace }: WorkloadIdentity) {
  const ref = ({ apiVersion, kind }: { apiVersion: string; kind: string }, objectName = name) => ({
    ...{ apiVersion, kind, namespace, name: objectName },
  });
  return [
    ref(kinds.IngressRoute),
    ref(kinds.Middleware, `${name}-gate`),
    ref(kinds.Middleware, `${name}-gate-strip`),
    ref(kinds.Service),
    ref(kinds.Deployment),
  ];
}

function holderOf({ spec: { kind, namespace, name } }: Stored<HostName>): Key[] {
  return kind === 'App' ? [{ namespace, name }] : [];
}

function hasFailed({ status }: Stored<App>): boolean {
  return status?.phase === 'failed';
}

function keyOf({ name, namespace }: KubeObject['metadata']): Key {
  return { name, ...(namespace !== undefined && { namespace }) };
}
