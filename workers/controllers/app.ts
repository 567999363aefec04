import { appRoute } from '../../infra/manifests/app-route.ts';
import type { WorkloadRoute } from '../../infra/manifests/workload-route.ts';
import { appService, type AppManifestInput } from '../../infra/manifests/app.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { podFault, type Pod } from '../../runtime/contracts/pod.ts';
import type { App, Release } from '../../runtime/contracts/resources/app.ts';
import type { HostName } from '../../runtime/contracts/resources/claims.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { firstPromotionOf, type FirstPromotion } from '../../runtime/contracts/resources/promotion.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { GitSource } from '../../runtime/domain/git-source.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { checkImageProject } from '../../runtime/domain/built-image.ts';
import { checkImage } from '../../runtime/domain/image.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import {
  appLabel,
  createdByAnnotation,
  kindLabel,
  roleLabel,
  servingPods,
  workloadFinalizer,
} from '../../runtime/domain/labels.ts';
import { deleteChild, ensureChild, NotYetError } from '../../runtime/kube/children.ts';
import { releaseHosts, releaseName, releaseOtherHosts } from '../../runtime/kube/claims.ts';
import { keyOf, type ControllerDefinition, type Key } from '../../runtime/kube/controller.ts';
import type { EventRecorder } from '../../runtime/kube/events.ts';
import { removeFinalizer } from '../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../runtime/kube/status.ts';
import { storageNode } from '../../runtime/kube/volume-claims.ts';
import { admitHosts, type ResolveTxt } from '../../runtime/workloads/host-admission.ts';
import { withoutSessions } from '../../runtime/workloads/run-sessions.ts';
import type { WorkloadProjection } from '../../runtime/records/workloads.ts';
import { imageEdit, recordedRelease, type ImageEdit } from './app-edits.ts';
import { collectEnvironments } from './app-environments.ts';
import { ensurePods } from './app-pods.ts';
import { handOverBindings, type BindingRecords } from './bindings.ts';
import type { Deployment } from './deployment-object.ts';
import { isCurrent, otherReleasesGoneInMs, patienceLeftMs } from './app-release.ts';
import { deleteRuns, ensureReleaseCommand, ensureRuns, type CommandState } from './app-runs.ts';
import { publicHosts } from './app-routing.ts';
import { observedStatus } from './app-status.ts';
import { ensureDisruptionBudget, removeDisruptionBudget } from './disruption-budget.ts';
import type { ProbeGate } from './gate-probe.ts';
import { gateStep, type GateStep } from './gate-step.ts';
import { createGateWatch } from './gate-watch.ts';
import { deleteRoute, ensureRouteParts, ensureRoute, sharedObjectsWatch } from './route-objects.ts';
import { createFailureReporter } from './reconcile-failure.ts';
import { isAwayFromStorage, isUnplaced } from './placement.ts';
import { ensureIdentity, holdClaims, identityOf, type WorkloadIdentity } from './workload.ts';

/** Retry without the installation's settings. A change of the settings also enqueues every app. */
const configRetryMs = 5_000;
/** Interval of looks at a release command, whose pod may have a fault that lasts. */
const commandCheckMs = 10_000;

/** What one reconcile did to the app's objects. */
interface EnsuredObjects {
  routeChanged: boolean;
  /** Undefined when the pods were left unchanged. */
  deployment?: Stored<Deployment> | undefined;
}

/** Where the first deployment of an app comes from. */
interface FirstDeployment {
  /** Who created the app. */
  actor: string | undefined;
  /** The promotion that created it. */
  promotion: FirstPromotion | undefined;
}

export interface AppControllerOptions {
  kube: KubeClient;
  /** The active settings; undefined before there are any. */
  platformConfig: () => PlatformConfigSpec | undefined;
  /** Writes to PostgreSQL. Every call is idempotent. */
  records: BindingRecords & {
    project(workload: WorkloadProjection): Promise<void>;
    /** Accepts the app's first deployment; does nothing when it has one. */
    deployFirst(id: Id, image: string, by: FirstDeployment): Promise<void>;
    /**
     * Accepts a deployment of an image that was changed in the cluster, once for each key.
     * @returns whether its release is not written yet
     */
    deployEdited(id: Id, image: string, key: string): Promise<boolean>;
    /** The environment Secrets that the app's history needs. */
    neededEnvironments(id: Id): Promise<string[]>;
    markDeleted(id: Id): Promise<void>;
    /** Starts or stops polling the app's git source. */
    projectGit(id: Id, source: GitSource | undefined): Promise<void>;
  };
  events: Pick<EventRecorder, 'record'>;
  /** Asks the ingress whether a route requires an API key. */
  probeGate: ProbeGate;
  clock: Clock;
  /** Reads the DNS records by which projects prove hosts; without it, only the settings allow hosts. */
  resolveTxt?: ResolveTxt;
}

/**
 * Reconciles an App: claims its name and hosts, projects it into the records, accepts its first deployment, applies the
 * objects of its release, and reports the progress of the release.
 */
export function appController(options: AppControllerOptions): ControllerDefinition<App> {
  const { kube, platformConfig, records, events, clock, resolveTxt } = options;
  const reportFailure = createFailureReporter(options);
  const gates = createGateWatch(options);
  const gitless = new Set<Id>();

  const reconcileObject = async (object: Stored<App>, config: PlatformConfigSpec, signal: AbortSignal) => {
    const { workload: app, identity } = await ensureIdentity(kube, object);
    const { spec } = app;
    const hosts = publicHosts(spec, identity, config);
    const [host] = hosts;
    const labels = [`${identity.name}--${identity.namespace}`];
    const applicant = { project: identity.project, workloadId: identity.id, labels };
    await admitHosts({ kube, config, resolveTxt }, applicant, hosts);
    await holdClaims(kube, app, hosts);
    const step = gateStep(app, clock.now());
    // The checkers know the gate before a route asks them (docs/reference/gate.md#turning-the-gate-on).
    await records.project({ ...identity, kind: 'App', gated: step.gated });
    await handOverBindings(kube, records, app, identity);
    // An app without a git source is projected once per process, because it may have had one.
    if (spec.git ?? !gitless.has(identity.id)) await records.projectGit(identity.id, spec.git);
    if (spec.git) gitless.delete(identity.id);
    else gitless.add(identity.id);
    const release = spec.release && recordedRelease(app, spec.release);
    let ensured: EnsuredObjects = { routeChanged: false };
    let edit: ImageEdit | undefined;
    let command: CommandState = { phase: 'none' };
    if (release) checkImageProject(release.image, identity, config.builds);
    if (release) {
      const { entryPoints, scheme } = config;
      const { id, name, namespace } = identity;
      const settings = { hosts, entryPoints, scheme, gated: step.demanded, security: spec.security };
      const route = appRoute({ id, name, namespace, ...settings });
      edit = imageEdit(app, await seenDeployment(identity));
      const willDeploy = edit !== undefined && (await recordEdit(app, identity, edit, config));
      command = await ensureReleaseCommand(kube, app, identity, { release, now: clock.now() });
      const pods = !willDeploy && (command.phase === 'none' || command.phase === 'succeeded');
      ensured = await ensureObjects(app, { ...identity, spec, release }, route, { gate: step, pods });
    } else if (spec.image !== '') {
      checkImageProject(checkImage(spec.image), identity, config.builds);
      const actor = app.metadata.annotations?.[createdByAnnotation];
      await records.deployFirst(identity.id, spec.image, { actor, promotion: firstPromotionOf(app) });
    }
    // The app's previous host is served until the route has changed.
    const promisedMs = await releaseOtherHosts(kube, identity.id, hosts, clock.now());
    const observation = release
      ? await observe(app, identity, release, ensured.deployment)
      : { deployment: undefined, pods: [] };
    const view = { routed: release !== undefined, changed: ensured.routeChanged, hosts, config, signal };
    const gate = await gates.check(app, step, view);
    const now = clock.now();
    const {
      againInMs: runsAgainMs,
      waiting = [],
      endedSessions = [],
      ...runs
    } = await ensureRuns(kube, app, identity, { release, command: command.phase, now });
    const after = await writeStatus<App>(
      kube,
      app,
      observedStatus({
        app,
        host,
        config,
        gate,
        edited: edit?.where === 'spec.image',
        ...observation,
        ...runs,
        command,
        now,
      }),
    );
    if (gate.event) await events.record(after, gate.event);
    const { runRequests = [], runStops = [], ...settings } = after.spec;
    // The change causes the next reconcile.
    if (runStops.length > 0 || waiting.length < runRequests.length || endedSessions.length > 0) {
      await kube.replace({
        ...after,
        metadata: { ...after.metadata, annotations: withoutSessions(after, endedSessions) },
        spec: { ...settings, ...(waiting.length > 0 && { runRequests: waiting }) },
      });
    }
    if (after.status?.release?.phase === 'available')
      await collectEnvironments(kube, after, (id) => records.neededEnvironments(id));
    const othersGoneMs =
      release && observation.deployment ? otherReleasesGoneInMs(observation.pods, release.generation, now) : 0;
    const patienceMs = patienceLeftMs(after.status?.release, now) ?? 0;
    const commandMs = command.phase === 'running' ? commandCheckMs : 0;
    const waits = [gate.againInMs ?? 0, othersGoneMs, promisedMs ?? 0, patienceMs, runsAgainMs ?? 0, commandMs].filter(
      (ms) => ms > 0 && ms < Infinity,
    );
    return waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...waits) };
  };

  const seenDeployment = async ({ name, namespace }: WorkloadIdentity) =>
    kube.cache?.get<Deployment>(kinds.Deployment, name, namespace) ??
    kube.get<Deployment>(kinds.Deployment, name, namespace);

  /**
   * Records an image that was changed in the cluster as a deployment (decision 0014).
   * @returns whether to leave the pods unchanged until the release of that deployment is written
   */
  const recordEdit = async (
    app: Stored<App>,
    identity: WorkloadIdentity,
    { image, where, key }: ImageEdit,
    { builds }: PlatformConfigSpec,
  ): Promise<boolean> => {
    try {
      checkImageProject(checkImage(image, where), identity, builds);
      return await records.deployEdited(identity.id, image, key);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      // In the Deployment object it is reverted at once; in the App it stays until a user changes it.
      await events.record(app, { type: 'Warning', reason: 'ImageRefused', message: `${where}: ${error.message}` });
      return false;
    }
  };

  const ensureObjects = async (
    app: Stored<App>,
    input: AppManifestInput,
    route: WorkloadRoute,
    { gate, pods: withPods }: { gate: GateStep; pods: boolean },
  ): Promise<EnsuredObjects> => {
    await ensureRouteParts(kube, app, route);
    const deployment = withPods ? await ensurePods(kube, app, input) : undefined;
    await ensureChild(kube, app, appService(input), { cached: true });
    const routeChanged = await ensureRoute(kube, app, route, gate);
    await ensureDisruptionBudget(kube, app, { ...input, kind: 'App' }, app.spec.replicas);
    return { routeChanged, deployment };
  };

  /** @param ensured the Deployment object of this reconcile; undefined when the pods were left unchanged */
  const observe = async (
    { spec, status }: Stored<App>,
    identity: WorkloadIdentity,
    release: Release,
    ensured: Stored<Deployment> | undefined,
  ) => {
    const { id, namespace } = identity;
    const deployment = ensured ?? (await seenDeployment(identity));
    const isRolledOut = status?.release?.phase === 'available' && status.release.generation === release.generation;
    const { readyReplicas = 0 } = deployment?.status ?? {};
    if (isRolledOut && deployment && readyReplicas === deployment.spec.replicas) return { deployment, pods: [] };
    // No pod counts before the deployment controller has seen the release, which causes another reconcile.
    if (!isRolledOut && deployment && !isCurrent(deployment, release.generation)) return { deployment, pods: [] };
    // The pods show why the app is not ready, and which releases still get requests.
    const { items } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector: servingPods(id) });
    const away = items.some(isAwayFromStorage);
    return {
      deployment,
      pods: items,
      storageNode: away ? await storageNode(kube, namespace, spec.volumes) : undefined,
    };
  };

  /** Deletes the app's objects before the app, so that a new app of the same name finds none of them. */
  const finalize = async (app: Stored<App>): Promise<void> => {
    const identity = identityOf(app);
    if (identity) {
      // The route first.
      const results = [await deleteRoute(kube, app, identity)];
      results.push(await removeDisruptionBudget(kube, app, identity));
      for (const ref of childRefs(identity)) results.push(await deleteChild(kube, app, ref));
      results.push(await deleteRuns(kube, app, identity));
      if (results.includes(false)) throw new NotYetError('objects of the app are still being deleted');
      await releaseHosts(kube, identity.id);
      // Deletes the app's users from services; databases are kept.
      if (app.spec.bindings || app.status?.bindings) await records.projectBindings(identity.id, []);
      await records.markDeleted(identity.id);
      await releaseName(kube, app);
    }
    gates.forget(app);
    if (identity) gitless.delete(identity.id);
    await removeFinalizer(kube, app, workloadFinalizer);
  };

  return {
    name: 'App',
    kind: kinds.App,
    fromCopies: true,
    owns: [kinds.Deployment, kinds.Service, kinds.IngressRoute, kinds.Middleware, kinds.PodDisruptionBudget],
    watches: [
      // The Deployment object does not show why a pod does not start. Uses the same informer as PodOOM.
      { kind: kinds.Pod, selection: { labelSelector: kindLabel }, keysOf: (pod) => appOfPod(pod as Stored<Pod>) },
      { kind: kinds.BatchJob, selection: { labelSelector: `${kindLabel}=App` }, keysOf: appOfRun },
      sharedObjectsWatch(kinds.Middleware, appsIn),
      sharedObjectsWatch(kinds.ServersTransport, appsIn),
      // An app may wait for a name or host that is released.
      { kind: kinds.WorkloadName, ignoreAdded: true, keysOf: ({ metadata }) => [keyOf(metadata)] },
      {
        kind: kinds.HostName,
        ignoreAdded: true,
        // Restores a host claim that was deleted while in use.
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
        return await reconcileObject(app, config, signal);
      } catch (error) {
        await reportFailure(kinds.App, app, error);
        throw error;
      }
    },
  };
}

/** The apps whose routes use the shared objects of a namespace. */
function appsIn(apps: Stored<KubeObject>[], namespace: string): Stored<KubeObject>[] {
  return apps.filter(({ metadata }) => metadata.namespace === namespace);
}

/** In the order of deletion. */
function childRefs({ name, namespace }: WorkloadIdentity) {
  return [kinds.Service, kinds.Deployment].map(({ apiVersion, kind }) => ({ apiVersion, kind, namespace, name }));
}

function holderOf({ spec: { kind, namespace, name } }: Stored<HostName>): Key[] {
  return kind === 'App' ? [{ namespace, name }] : [];
}

/** The app of a pod that does not start, that no node accepts, or that belongs to a one-off run. */
function appOfPod(pod: Stored<Pod>): Key[] {
  const { [kindLabel]: kind, [roleLabel]: role } = pod.metadata.labels ?? {};
  if (kind !== 'App') return [];
  return role === 'run' || (role === 'serve' && (podFault(pod) ?? isUnplaced(pod))) ? appOfRun(pod) : [];
}

/** The app that the labels of a run or a pod name. */
function appOfRun({ metadata: { labels, namespace } }: Stored<KubeObject>): Key[] {
  const name = labels?.[appLabel];
  return name === undefined ? [] : [keyOf({ name, namespace })];
}

function hasFailed({ status }: Stored<App>): boolean {
  return status?.phase === 'failed';
}
