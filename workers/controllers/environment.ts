import {
  environmentPolicy,
  functionsPolicy,
  namespaceInAddress,
  servicesPolicy,
} from '../../infra/manifests/environment-network.ts';
import { environmentDefaults, environmentNamespace, environmentQuota } from '../../infra/manifests/environment.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import {
  effectiveLimits,
  type EnvironmentSpec,
  type Project,
  type ProjectStatus,
} from '../../runtime/contracts/resources/project.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { environmentIdLabel, idLabel } from '../../runtime/domain/labels.ts';
import { checkEnvironmentName, checkProjectName, namespaceOf } from '../../runtime/domain/names.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { applyObject, ChildError, ensureChild, ForeignObjectError, NotYetError } from '../../runtime/kube/children.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import { obstacleOf, type Obstacle } from '../../runtime/kube/obstacle.ts';
import { leaveExternalServices, type BindingLeftovers } from './environment-bindings.ts';

type EnvironmentStatus = NonNullable<ProjectStatus['environments']>[number];

/** What became of one environment. `pending` settles by itself, `refused` does not, `gone` was wanted. */
export interface EnvironmentOutcome {
  status: EnvironmentStatus;
  outcome: 'ready' | 'pending' | 'refused' | 'gone';
  /** What others have in its way. */
  obstacle?: Obstacle;
  /** When to look again, where no watch tells. */
  lookInMs?: number;
}

/** How long to wait for what functions leave behind. */
export const leavingMs = 2_000;

/** What the Project controller keeps of an environment in PostgreSQL; every call may be repeated. */
export interface EnvironmentRecords extends BindingLeftovers {
  /** Removes its plans and keys: nothing opens any more. */
  closeEnvironment(environmentId: Id): Promise<void>;
  /** Removes everything, history included. Only once its namespace is gone, and with it whoever would write anew. */
  deleteEnvironment(environmentId: Id): Promise<void>;
}

/** As {@link EnvironmentRecords}, and what is kept of the project itself. */
export interface ProjectRecords extends EnvironmentRecords {
  /** Removes its notifications and its members' roles. */
  deleteProject(projectId: Id): Promise<void>;
}

/** The settings of the installation that environments follow. */
export type EnvironmentSettings = Pick<PlatformConfigSpec, 'ingressAddress' | 'allowPrivateNetworks' | 'defaultLimits'>;

export interface EnvironmentOptions {
  kube: KubeClient;
  platformConfig: () => EnvironmentSettings | undefined;
  records: EnvironmentRecords;
}

/** Brings the environments of projects about, and away. */
export interface Environments {
  ensure(
    project: Stored<Project>,
    environment: EnvironmentSpec,
    settings: EnvironmentSettings,
    apiServers: readonly string[],
  ): Promise<EnvironmentOutcome>;
  /** Takes an environment away with everything in it; `pending` until that is done. */
  remove(project: Stored<Project>, environment: EnvironmentSpec): Promise<EnvironmentOutcome>;
}

export function createEnvironments({ kube, records }: Pick<EnvironmentOptions, 'kube' | 'records'>): Environments {
  const result = (
    { metadata }: Stored<Project>,
    { id, name }: EnvironmentSpec,
    outcome: EnvironmentOutcome['outcome'],
    message?: string,
    obstacle?: Obstacle,
  ): EnvironmentOutcome => ({
    outcome,
    status: {
      ...{ id, name, namespace: `${metadata.name}-${name}`, ready: outcome === 'ready' },
      ...(message !== undefined && { message }),
    },
    ...(obstacle && { obstacle }),
  });

  return {
    async ensure(project, environment, settings, apiServers) {
      const { id, name } = environment;
      const { ingressAddress, allowPrivateNetworks = [], defaultLimits } = settings;
      const projectName = project.metadata.name;
      try {
        const namespace = namespaceOf(checkProjectName(projectName), checkEnvironmentName(name));
        const live = await kube.get(kinds.Namespace, namespace);
        if (live?.metadata.deletionTimestamp !== undefined) {
          return result(project, environment, 'pending', `The namespace "${namespace}" is still being deleted.`);
        }
        if (live && live.metadata.labels?.[environmentIdLabel] !== id) {
          const message = `The namespace "${namespace}" exists already and is not taken over; delete it or choose another name.`;
          return result(project, environment, 'refused', message, obstacleOf(live));
        }
        const projectId = project.metadata.labels?.[idLabel] ?? '';
        await applyObject(kube, environmentNamespace({ namespace, project: projectName, projectId, name, id }));
        const limits = effectiveLimits(environment.limits, defaultLimits);
        const ingressNamespace = namespaceInAddress(ingressAddress);
        const network = { namespace, ingressNamespace, apiServers, allowPrivateNetworks };
        // The policies first: nothing runs in an environment that others can reach into; and that of functions before the
        // other one leaves them out.
        for (const child of [
          functionsPolicy(network),
          environmentPolicy(network),
          servicesPolicy(network),
          environmentDefaults(namespace, limits),
          environmentQuota(namespace, limits),
        ]) {
          await ensureChild<KubeObject>(kube, project, child, { cached: true });
        }
        return result(project, environment, 'ready');
      } catch (error) {
        if (error instanceof Problem || error instanceof ChildError) {
          const obstacle = error instanceof ForeignObjectError ? error.obstacle : undefined;
          return result(project, environment, 'refused', error.message, obstacle);
        }
        if (error instanceof NotYetError || isKubeError(error, 409)) {
          return result(project, environment, 'pending', error.message);
        }
        throw error;
      }
    },
    async remove(project, environment) {
      const { id, name } = environment;
      const namespace = `${project.metadata.name}-${name}`;
      const live = await kube.get(kinds.Namespace, namespace);
      // Before it goes: from now on no key opens anything, however long the rest takes.
      await records.closeEnvironment(id);
      if (live?.metadata.labels?.[environmentIdLabel] === id) {
        const { apiVersion, kind, metadata } = live;
        if (metadata.deletionTimestamp === undefined) {
          if (await leaveExternalServices(kube, records, namespace)) {
            const message = 'The functions of the environment leave the external services that they are bound to.';
            return { ...result(project, environment, 'pending', message), lookInMs: leavingMs };
          }
          await kube.delete({ apiVersion, kind, name: namespace }, { preconditions: { uid: metadata.uid } });
        }
        return result(project, environment, 'pending', 'The environment is being deleted.');
      }
      await records.deleteEnvironment(id);
      return result(project, environment, 'gone');
    },
  };
}
