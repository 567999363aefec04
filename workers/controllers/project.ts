import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Project } from '../../runtime/contracts/resources/project.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { newId } from '../../runtime/domain/ids.ts';
import {
  environmentIdLabel,
  idLabel,
  managedLabels,
  projectLabel,
  workloadFinalizer,
} from '../../runtime/domain/labels.ts';
import { childrenAdoptedState, mergeConditions, reconcileFailed } from '../../runtime/kube/conditions.ts';
import { controllerOf } from '../../runtime/kube/children.ts';
import { managedSelection, type ControllerDefinition, type ReconcileOutcome } from '../../runtime/kube/controller.ts';
import type { EventRecorder } from '../../runtime/kube/events.ts';
import { ensureMarks, removeFinalizer } from '../../runtime/kube/finalizers.ts';
import { writeStatus } from '../../runtime/kube/status.ts';
import { apiServerAddresses, apiServerEndpoints } from './api-servers.ts';
import { removeBoundUsers } from './environment-bindings.ts';
import {
  createEnvironments,
  leavingMs,
  type EnvironmentOptions,
  type EnvironmentOutcome,
  type EnvironmentSettings,
  type ProjectRecords,
} from './environment.ts';

/** Interval of checks for changes that no watch reports. */
const lookAgainMs = 15_000;

/** Retry without the installation's settings. A change of the settings also enqueues every project. */
const configRetryMs = 5_000;

export interface ProjectControllerOptions extends EnvironmentOptions {
  records: ProjectRecords;
  events: Pick<EventRecorder, 'record'>;
  clock: Clock;
}

/**
 * Reconciles a Project: creates one namespace for each environment, never using an existing one (decision 0001), with
 * limits, network policies and the rights of the platform's processes. Removing an environment, or deleting the project, deletes its namespace and records.
 */
export function projectController(options: ProjectControllerOptions): ControllerDefinition<Project> {
  const { kube, platformConfig, records, events, clock } = options;
  const environments = createEnvironments(options);

  const reconcileObject = async (object: Stored<Project>, settings: EnvironmentSettings): Promise<ReconcileOutcome> => {
    const project = await ensureMarks(kube, object, workloadFinalizer, {
      ...managedLabels(),
      [idLabel]: object.metadata.labels?.[idLabel] ?? newId(),
    });
    const addresses = await apiServerAddresses(kube);
    const outcomes: EnvironmentOutcome[] = [];
    for (const environment of project.spec.environments) {
      outcomes.push(
        environment.deleting
          ? await environments.remove(project, environment)
          : await environments.ensure(project, environment, settings, addresses),
      );
    }
    const remaining = outcomes.filter(({ outcome }) => outcome !== 'gone');
    if (remaining.length < outcomes.length) {
      // The change causes the next reconcile, which writes the status.
      await forget(project, outcomes);
      return {};
    }
    const refused = outcomes.find(({ outcome }) => outcome === 'refused')?.status.message;
    const allReady = outcomes.every(({ outcome }) => outcome === 'ready');
    const { generation } = project.metadata;
    await writeStatus<Project>(kube, project, {
      ...(generation !== undefined && { observedGeneration: generation }),
      phase: refused !== undefined ? 'failed' : allReady ? 'ready' : 'creating',
      environments: outcomes.map(({ status }) => status),
      conditions: mergeConditions(project.status?.conditions, [childrenAdoptedState(generation, refused)], clock.now()),
    });
    if (refused !== undefined) {
      await events.record(project, { type: 'Warning', reason: reconcileFailed, message: refused });
    }
    const blockers = outcomes.flatMap(({ blocker }) => blocker ?? []);
    const lookInMs = Math.min(lookAgainMs, ...outcomes.map((outcome) => outcome.lookInMs ?? lookAgainMs));
    return allReady ? {} : { requeueAfterMs: lookInMs, blockers };
  };

  /** Removes environments from the spec. Last, because the entry is the only record of a pending removal. */
  const forget = async (project: Stored<Project>, outcomes: readonly EnvironmentOutcome[]): Promise<void> => {
    const deletedIds = new Set(outcomes.filter(({ outcome }) => outcome === 'gone').map(({ status }) => status.id));
    const remaining = project.spec.environments.filter(({ id }) => !deletedIds.has(id));
    await kube.replace<Project>({ ...project, spec: { ...project.spec, environments: remaining } });
  };

  /** The project's namespaces, selected by both ids: a namespace with only one of the labels is not the platform's. */
  const namespacesOf = async ({ metadata }: Stored<Project>): Promise<Stored<KubeObject>[]> => {
    const projectId = metadata.labels?.[idLabel];
    if (projectId === undefined) return [];
    const labels = { ...managedLabels(), [projectLabel]: metadata.name, [idLabel]: projectId };
    const labelSelector = Object.entries(labels)
      .map(([name, value]) => `${name}=${value}`)
      .join(',');
    const { items } = await kube.list(kinds.Namespace, { labelSelector });
    return items.filter((item) => item.metadata.labels?.[environmentIdLabel] !== undefined);
  };

  const finalize = async (project: Stored<Project>): Promise<ReconcileOutcome> => {
    const namespaces = await namespacesOf(project);
    const ids = new Set(project.spec.environments.map(({ id }) => id));
    for (const { metadata } of namespaces) ids.add(metadata.labels?.[environmentIdLabel] ?? '');
    // First, so that keys are invalid at once, however long the rest takes.
    for (const id of ids) await records.closeEnvironment(id);
    let leaving = false;
    for (const { apiVersion, kind, metadata } of namespaces) {
      if (metadata.deletionTimestamp !== undefined) continue;
      if (await removeBoundUsers(kube, records, metadata.name)) {
        leaving = true;
        continue;
      }
      await kube.delete({ apiVersion, kind, name: metadata.name }, { preconditions: { uid: metadata.uid } });
    }
    if (namespaces.length > 0) {
      await writeStatus<Project>(kube, project, { ...project.status, phase: 'deleting' });
      return { requeueAfterMs: leaving ? leavingMs : lookAgainMs };
    }
    for (const id of ids) await records.deleteEnvironment(id);
    const projectId = project.metadata.labels?.[idLabel];
    if (projectId !== undefined) await records.deleteProject(projectId);
    await removeFinalizer(kube, project, workloadFinalizer);
    return {};
  };

  return {
    name: 'Project',
    kind: kinds.Project,
    owns: [kinds.NetworkPolicy, kinds.LimitRange, kinds.RoleBinding],
    watches: [
      {
        kind: kinds.ResourceQuota,
        selection: managedSelection,
        // The status counts pods and changes with each of them.
        ignoreStatus: true,
        keysOf(quota) {
          const owner = controllerOf(quota);
          return owner?.kind === kinds.Project.kind ? [{ name: owner.name }] : [];
        },
      },
      {
        kind: kinds.Namespace,
        selection: { labelSelector: projectLabel },
        keysOf: ({ metadata }) => {
          const name = metadata.labels?.[projectLabel];
          return name === undefined ? [] : [{ name }];
        },
      },
      {
        kind: kinds.EndpointSlice,
        selection: apiServerEndpoints,
        keysOf: (_slice, projects) => projects().map(({ metadata: { name } }) => ({ name })),
      },
    ],
    async reconcile({ object: project }) {
      if (!project) return undefined;
      if (project.metadata.deletionTimestamp !== undefined) return finalize(project);
      const settings = platformConfig();
      return settings ? reconcileObject(project, settings) : { requeueAfterMs: configRetryMs };
    },
  };
}
