import { functionAnnotation } from '../../infra/manifests/function.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { HostName } from '../../runtime/contracts/resources/claims.ts';
import type { FunctionResource, FunctionSpec } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { appLabel, kindLabel, roleLabel, systemNamespace, workloadFinalizer } from '../../runtime/domain/labels.ts';
import { checkHost, functionHost } from '../../runtime/domain/names.ts';
import { NotYetError } from '../../runtime/kube/children.ts';
import { releaseHosts, releaseName } from '../../runtime/kube/claims.ts';
import type { ControllerDefinition, Key } from '../../runtime/kube/controller.ts';
import type { EventRecorder } from '../../runtime/kube/events.ts';
import { removeFinalizer } from '../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { WorkloadProjection } from '../../runtime/records/workloads.ts';
import { handOverBindings, type BindingRecords } from './function-bindings.ts';
import { ensureCode, runWithOf } from './function-code.ts';
import { ensureEnvironment } from './function-environment.ts';
import { sourceProblem, type EventRecords } from './function-events.ts';
import { ensureNetwork } from './function-network.ts';
import { createSchedule } from './function-schedule.ts';
import { createServing } from './function-serving.ts';
import type { ProbeGate } from './gate-probe.ts';
import { gateStep } from './gate-step.ts';
import { createStopReport } from './stop-report.ts';
import { ensureIdentity, holdClaims, identityOf, type WorkloadIdentity } from './workload.ts';

/** Without the installation's settings nothing can be done; a change of them brings every function anyway. */
const configRetryMs = 5_000;

export interface FunctionControllerOptions {
  kube: KubeClient;
  /** The installation's settings, once there are some. */
  platformConfig: () => PlatformConfigSpec | undefined;
  /** What the controller writes into PostgreSQL; every call may be repeated. */
  records: {
    project(workload: WorkloadProjection): Promise<void>;
    markDeleted(id: Id): Promise<void>;
  } & BindingRecords &
    EventRecords;
  events: Pick<EventRecorder, 'record'>;
  /** Asks the ingress whether a route demands a key. */
  probeGate: ProbeGate;
  clock: Clock;
}

/**
 * Makes a Function real (design.md §5, §7): holds its name and host, projects it into the records, keeps its code and what
 * runs it as they should be, and reports its state. By its trigger that is a CronJob, or a Deployment whose replica count
 * it only ever reads, with a route for the trigger `http`. What another trigger had goes first.
 */
export function functionController(options: FunctionControllerOptions): ControllerDefinition<FunctionResource> {
  const { kube, platformConfig, records, clock } = options;
  const reportStop = createStopReport(options);
  const serving = createServing(options);
  const schedule = createSchedule(options);

  const bringAbout = async (object: Stored<FunctionResource>, config: PlatformConfigSpec, signal: AbortSignal) => {
    const { workload: known, identity } = await ensureIdentity(kube, object);
    const { spec } = known;
    const host = spec.trigger === 'http' ? hostOf(spec, identity, config) : undefined;
    await holdClaims(kube, known, host === undefined ? [] : [host]);
    const gate = gateStep(known, clock.now());
    // The checkers know of the gate before any route asks them (spec.md §3.2).
    await records.project({ ...identity, kind: 'Function', gated: host !== undefined && gate.known });
    await handOverBindings(kube, records, known, identity);
    const problem = await sourceProblem(records, spec, identity);
    await ensureNetwork(kube, known, identity);
    await ensureCode(kube, known, identity, runWithOf(config, known));
    const { resource, envSecret } = await ensureEnvironment(kube, known);
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
    // Nobody can run it once any more; the change brings the next pass.
    if (runRequests) return void (await kube.replace({ ...resource, spec: rest }));
    const lookInMs = await serving.ensure(resource, identity, { host, config, envSecret, gate, problem, signal });
    return lookInMs === undefined ? undefined : { requeueAfterMs: lookInMs };
  };

  /** First nothing leads to the function or runs it any more; its own objects go before its name does. */
  const finalize = async (resource: Stored<FunctionResource>): Promise<void> => {
    const identity = identityOf(resource);
    if (identity) {
      const servingGone = await serving.remove(resource, identity);
      const scheduleGone = await schedule.remove(resource, identity);
      if (!servingGone || !scheduleGone) throw new NotYetError('objects of the function are still being deleted');
      await releaseHosts(kube, identity.id);
      // The users that they have go from the services; the databases stay.
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
    owns: [kinds.Deployment, kinds.ConfigMap, kinds.CronJob, kinds.PersistentVolumeClaim, kinds.NetworkPolicy],
    watches: [
      // Pods belong to a ReplicaSet or a run, the schedule's runs to its CronJob, and a route in another namespace to nobody.
      { kind: kinds.Pod, selection: { labelSelector: `${kindLabel}=Function,${roleLabel}` }, keysOf: workloadKey },
      { kind: kinds.BatchJob, selection: { labelSelector: `${kindLabel}=Function` }, keysOf: workloadKey },
      ...[kinds.IngressRoute, kinds.Middleware].map((kind) => ({
        kind,
        selection: { namespace: systemNamespace, labelSelector: `${kindLabel}=Function` },
        keysOf: ({ metadata: { annotations } }: Stored<KubeObject>) =>
          keyFrom(...(annotations?.[functionAnnotation]?.split('/') ?? [])),
      })),
      // A name or host that is given back may be one that a function waits for.
      { kind: kinds.WorkloadName, ignoreAdded: true, keysOf: (claim) => [keyOf(claim)] },
      {
        kind: kinds.HostName,
        ignoreAdded: true,
        keysOf: (host, functions) => [...holderOf(host), ...functions().filter(hasFailed).map(keyOf)],
      },
    ],
    async reconcile({ object: resource, signal }) {
      if (!resource) return undefined;
      if (resource.metadata.deletionTimestamp !== undefined) return finalize(resource);
      const config = platformConfig();
      if (!config) return { requeueAfterMs: configRetryMs };
      try {
        return await bringAbout(resource, config, signal);
      } catch (error) {
        await reportStop(kinds.Function, resource, error);
        throw error;
      }
    },
  };
}

/** A claim that is taken away from its holder is made again. */
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

function keyOf({ metadata: { name, namespace } }: Stored<KubeObject>): Key {
  return { name, ...(namespace !== undefined && { namespace }) };
}
