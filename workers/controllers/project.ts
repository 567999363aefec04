import { environmentNamespace } from '../../infra/manifests/environment.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Project, ProjectStatus } from '../../runtime/contracts/resources/project.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { newId, type Id } from '../../runtime/domain/ids.ts';
import {
  environmentIdLabel,
  idLabel,
  managedLabels,
  projectLabel,
  workloadFinalizer,
} from '../../runtime/domain/labels.ts';
import { checkEnvironmentName, checkProjectName, namespaceOf } from '../../runtime/domain/names.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { applyObject, ChildError, NotYetError } from '../../runtime/kube/children.ts';
import { childrenAdoptedState, mergeConditions, reconcileFailed } from '../../runtime/kube/conditions.ts';
import type { ControllerDefinition } from '../../runtime/kube/controller.ts';
import type { EventRecorder } from '../../runtime/kube/events.ts';
import { ensureMarks, removeFinalizer } from '../../runtime/kube/finalizers.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../runtime/kube/status.ts';

/** A namespace that is in the way is no object of ours, so no watch tells when it goes. */
const lookAgainMs = 15_000;

type EnvironmentStatus = NonNullable<ProjectStatus['environments']>[number];

/** What became of one environment's namespace. `pending` settles by itself, `refused` does not. */
type Outcome = EnvironmentStatus & { outcome: 'ready' | 'pending' | 'refused' };

export interface ProjectControllerOptions {
  kube: KubeClient;
  /** Removes an environment's plans and keys; may be repeated. */
  records: { deleteEnvironment(environmentId: Id): Promise<void> };
  events: Pick<EventRecorder, 'record'>;
  clock: Clock;
}

/**
 * Makes a Project real: one namespace per environment, created and never taken over (decision 0001). When the project is
 * deleted its namespaces go with everything in them, and then its records.
 */
export function projectController(options: ProjectControllerOptions): ControllerDefinition<Project> {
  const { kube, records, events, clock } = options;

  const ensureEnvironment = async (
    project: Stored<Project>,
    { name, id }: Project['spec']['environments'][number],
  ): Promise<Outcome> => {
    const projectId = project.metadata.labels?.[idLabel] ?? '';
    let namespace = `${project.metadata.name}-${name}`;
    const result = (outcome: Outcome['outcome'], message?: string): Outcome => ({
      ...{ name, id, namespace, ready: outcome === 'ready', outcome },
      ...(message !== undefined && { message }),
    });
    try {
      namespace = namespaceOf(checkProjectName(project.metadata.name), checkEnvironmentName(name));
      const live = await kube.get(kinds.Namespace, namespace);
      if (live?.metadata.deletionTimestamp !== undefined) {
        return result('pending', `The namespace "${namespace}" is still being deleted.`);
      }
      if (live && live.metadata.labels?.[environmentIdLabel] !== id) {
        return result(
          'refused',
          `The namespace "${namespace}" exists already and is not taken over; delete it or choose another name.`,
        );
      }
      await applyObject(kube, environmentNamespace({ namespace, project: project.metadata.name, projectId, name, id }));
      return result('ready');
    } catch (error) {
      if (error instanceof Problem || error instanceof ChildError) return result('refused', error.message);
      if (error instanceof NotYetError || isKubeError(error, 409)) return result('pending', error.message);
      throw error;
    }
  };

  const bringAbout = async (object: Stored<Project>): Promise<{ requeueAfterMs: number } | undefined> => {
    const project = await ensureMarks(kube, object, workloadFinalizer, {
      ...managedLabels(),
      [idLabel]: object.metadata.labels?.[idLabel] ?? newId(),
    });
    const outcomes: Outcome[] = [];
    for (const environment of project.spec.environments) {
      outcomes.push(await ensureEnvironment(project, environment));
    }
    const refused = outcomes.find(({ outcome }) => outcome === 'refused');
    const settled = outcomes.every(({ outcome }) => outcome === 'ready');
    const { generation } = project.metadata;
    const states = [childrenAdoptedState(generation, refused?.message)];
    await writeStatus<Project>(kube, project, {
      ...(generation !== undefined && { observedGeneration: generation }),
      phase: refused ? 'failed' : settled ? 'ready' : 'creating',
      environments: outcomes.map(({ outcome: _outcome, ...environment }) => environment),
      conditions: mergeConditions(project.status?.conditions, states, clock.now()),
    });
    if (refused?.message !== undefined) {
      await events.record(project, { type: 'Warning', reason: reconcileFailed, message: refused.message });
    }
    return settled ? undefined : { requeueAfterMs: lookAgainMs };
  };

  /** Ours by both ids: a namespace that somebody labelled by hand with one of them stays. */
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

  const finalize = async (project: Stored<Project>): Promise<{ requeueAfterMs: number } | undefined> => {
    const namespaces = await namespacesOf(project);
    for (const { apiVersion, kind, metadata } of namespaces) {
      // The plans and keys go first: once the namespace is gone nothing would lead to those of a removed environment.
      const environmentId = metadata.labels?.[environmentIdLabel];
      if (environmentId !== undefined) await records.deleteEnvironment(environmentId);
      if (metadata.deletionTimestamp !== undefined) continue;
      await kube.delete({ apiVersion, kind, name: metadata.name }, { preconditions: { uid: metadata.uid } });
    }
    if (namespaces.length > 0) {
      await writeStatus<Project>(kube, project, { ...project.status, phase: 'deleting' });
      return { requeueAfterMs: lookAgainMs };
    }
    for (const { id } of project.spec.environments) await records.deleteEnvironment(id);
    await removeFinalizer(kube, project, workloadFinalizer);
    return undefined;
  };

  return {
    name: 'Project',
    kind: kinds.Project,
    watches: [
      {
        kind: kinds.Namespace,
        selection: { labelSelector: projectLabel },
        keysOf: ({ metadata }) => {
          const name = metadata.labels?.[projectLabel];
          return name === undefined ? [] : [{ name }];
        },
      },
    ],
    async reconcile({ object: project }) {
      if (!project) return undefined;
      return project.metadata.deletionTimestamp === undefined ? bringAbout(project) : finalize(project);
    },
  };
}
