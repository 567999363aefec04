import { functionAnnotation } from '../../infra/manifests/function.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { HostName } from '../../runtime/contracts/resources/claims.ts';
import type { FunctionResource, FunctionSpec } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import { checkImageProject } from '../../runtime/domain/built-image.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { appLabel, kindLabel, roleLabel, systemNamespace, workloadFinalizer } from '../../runtime/domain/labels.ts';
import { checkHost, functionHost, functionLabels } from '../../runtime/domain/names.ts';
import { NotYetError } from '../../runtime/kube/children.ts';
import { releaseHosts, releaseName } from '../../runtime/kube/claims.ts';
import { keyOf, managedSelection, type ControllerDefinition, type Key } from '../../runtime/kube/controller.ts';
import type { EventRecorder } from '../../runtime/kube/events.ts';
import { removeFinalizer } from '../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { checkClaims } from '../../runtime/kube/volume-claims.ts';
import { admitHosts, type ResolveTxt } from '../../runtime/workloads/host-admission.ts';
import type { WorkloadProjection } from '../../runtime/records/workloads.ts';
import { handOverBindings, type BindingRecords } from './bindings.ts';
import { ensureCode, runWithOf } from './function-code.ts';
import { ensureEnvironment } from './function-environment.ts';
import { sourceProblem, type EventRecords } from './function-events.ts';
import { ensureNetwork } from './function-network.ts';
import { createSchedule } from './function-schedule.ts';
import { createServing } from './function-serving.ts';
import type { ProbeGate } from './gate-probe.ts';
import { gateStep } from './gate-step.ts';
import { sharedObjectsWatch } from './route-objects.ts';
import { createFailureReporter } from './reconcile-failure.ts';
import { ensureIdentity, holdClaims, identityOf, type WorkloadIdentity } from './workload.ts';

/** Retry without the installation's settings. A change of the settings also enqueues every function. */
const configRetryMs = 5_000;

export interface FunctionControllerOptions {
  kube: KubeClient;
  /** The active settings; undefined before there are any. */
  platformConfig: () => PlatformConfigSpec | undefined;
  /** Writes to PostgreSQL. Every call is idempotent. */
  records: {
    project(workload: WorkloadProjection): Promise<void>;
    markDeleted(id: Id): Promise<void>;
  } & BindingRecords &
    EventRecords;
  events: Pick<EventRecorder, 'record'>;
  /** Asks the ingress whether a route requires an API key. */
  probeGate: ProbeGate;
  clock: Clock;
  /** Reads the DNS records by which projects prove hosts; without it, only the settings allow hosts. */
  resolveTxt?: ResolveTxt;
}

/**
 * Reconciles a Function: claims its name and host, projects it into the records, updates its code and the objects that
 * run it, and reports its state. These are a CronJob for the trigger `cron`, otherwise a Deployment object, whose
 * replicas it does not set, and a route for the trigger `http`. The objects of a previous trigger are deleted first.
 */
export function functionController(options: FunctionControllerOptions): ControllerDefinition<FunctionResource> {
  const { kube, platformConfig, records, clock, resolveTxt } = options;
  const reportFailure = createFailureReporter(options);
  const serving = createServing(options);
  const schedule = createSchedule(options);

  const reconcileObject = async (object: Stored<FunctionResource>, config: PlatformConfigSpec, signal: AbortSignal) => {
    const { workload: existing, identity } = await ensureIdentity(kube, object);
    const { spec } = existing;
    if (spec.image !== undefined) checkImageProject(spec.image, identity, config.builds);
    await checkClaims(kube, identity.namespace, spec.volumes);
    const host = spec.trigger === 'http' ? hostOf(spec, identity, config) : undefined;
    const hosts = host === undefined ? [] : [host];
    const labels = functionLabels(identity, config.cluster);
    const applicant = { project: identity.project, workloadId: identity.id, labels };
    await admitHosts({ kube, config, resolveTxt }, applicant, hosts);
    await holdClaims(kube, existing, hosts);
    const gate = gateStep(existing, clock.now());
    // The checkers know the gate before a route asks them (docs/reference/gate.md#turning-the-gate-on).
    await records.project({ ...identity, kind: 'Function', gated: host !== undefined && gate.gated });
    await handOverBindings(kube, records, existing, identity);
    const problem = await sourceProblem(records, spec, identity);
    await ensureNetwork(kube, existing, identity);
    await ensureCode(kube, existing, identity, runWithOf(config, existing));
    const { resource, envSecret } = await ensureEnvironment(kube, existing);
    const scheduled = spec.trigger === 'cron';
    const other = scheduled ? serving : schedule;
    if (other.mayExist(resource, identity) && !(await other.remove(resource, identity))) {
      throw new NotYetError('what the function had for its former trigger is still being deleted');
    }
    if (scheduled) {
      const lookInMs = await schedule.ensure(resource, identity, { config, envSecret });
      return lookInMs === undefined ? undefined : { requeueAfterMs: lookInMs };
    }
    const { runRequests, ...rest } = spec;
    // Requested runs are dropped with the trigger `cron`; the change causes the next reconcile.
    if (runRequests) return void (await kube.replace({ ...resource, spec: rest }));
    const lookInMs = await serving.ensure(resource, identity, { host, config, envSecret, gate, problem, signal });
    return lookInMs === undefined ? undefined : { requeueAfterMs: lookInMs };
  };

  /** Deletes the route and the running objects first, and releases the name last. */
  const finalize = async (resource: Stored<FunctionResource>): Promise<void> => {
    const identity = identityOf(resource);
    if (identity) {
      const servingGone = await serving.remove(resource, identity);
      const scheduleGone = await schedule.remove(resource, identity);
      if (!servingGone || !scheduleGone) throw new NotYetError('objects of the function are still being deleted');
      await releaseHosts(kube, identity.id);
      // Deletes the function's users from services; databases are kept.
      if (resource.spec.bindings || resource.status?.bindings) await records.projectBindings(identity.id, []);
      await records.projectEvents(identity.id, undefined);
      await records.markDeleted(identity.id);
      await releaseName(kube, resource);
    }
    await removeFinalizer(kube, resource, workloadFinalizer);
  };

  return {
    name: 'Function',
    kind: kinds.Function,
    fromCopies: true,
    owns: [
      kinds.Deployment,
      kinds.ConfigMap,
      kinds.CronJob,
      kinds.PersistentVolumeClaim,
      kinds.NetworkPolicy,
      kinds.PodDisruptionBudget,
    ],
    watches: [
      // Pods are owned by a ReplicaSet or a run, the schedule's runs by the CronJob, and a route in another namespace
      // has no owner.
      { kind: kinds.Pod, selection: { labelSelector: `${kindLabel}=Function,${roleLabel}` }, keysOf: workloadKey },
      { kind: kinds.BatchJob, selection: { labelSelector: `${kindLabel}=Function` }, keysOf: workloadKey },
      ...[kinds.IngressRoute, kinds.Middleware].map((kind) => ({
        kind,
        // Shares the informers of the routes of apps.
        selection: managedSelection,
        keysOf: ({ metadata: { annotations } }: Stored<KubeObject>) =>
          keyFrom(...(annotations?.[functionAnnotation]?.split('/') ?? [])),
      })),
      sharedObjectsWatch(kinds.Middleware, functionsIn),
      sharedObjectsWatch(kinds.ServersTransport, functionsIn),
      // A function may wait for a name or host that is released.
      { kind: kinds.WorkloadName, ignoreAdded: true, keysOf: ({ metadata }) => [keyOf(metadata)] },
      {
        kind: kinds.HostName,
        ignoreAdded: true,
        keysOf: (host, functions) => [
          ...holderOf(host),
          ...functions()
            .filter(hasFailed)
            .map(({ metadata }) => keyOf(metadata)),
        ],
      },
    ],
    async reconcile({ object: resource, signal }) {
      if (!resource) return undefined;
      if (resource.metadata.deletionTimestamp !== undefined) return finalize(resource);
      const config = platformConfig();
      if (!config) return { requeueAfterMs: configRetryMs };
      try {
        return await reconcileObject(resource, config, signal);
      } catch (error) {
        await reportFailure(kinds.Function, resource, error);
        throw error;
      }
    },
  };
}

/** The functions whose routes use the shared objects of a namespace: all, as their routes are in one. */
function functionsIn(functions: Stored<KubeObject>[], namespace: string): Stored<KubeObject>[] {
  return namespace === systemNamespace ? functions : [];
}

/** Restores a host claim that was deleted while in use. */
function holderOf(host: Stored<KubeObject>): Key[] {
  const { kind, namespace, name } = (host as Stored<HostName>).spec;
  return kind === 'Function' ? [{ namespace, name }] : [];
}

function hasFailed({ status }: Stored<KubeObject>): boolean {
  return (status as FunctionResource['status'])?.phase === 'failed';
}

function hostOf({ hostname }: FunctionSpec, { name }: WorkloadIdentity, config: PlatformConfigSpec): string {
  return hostname === undefined ? functionHost(name, config.cluster, config.appsDomain) : checkHost(hostname);
}

function workloadKey({ metadata: { labels, namespace } }: Stored<KubeObject>): Key[] {
  return keyFrom(namespace, labels?.[appLabel]);
}

function keyFrom(namespace?: string, name?: string): Key[] {
  return namespace === undefined || name === undefined ? [] : [{ namespace, name }];
}
