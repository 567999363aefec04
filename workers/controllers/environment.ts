import {
  environmentPolicy,
  functionsPolicy,
  namespaceInAddress,
  servicesPolicy,
} from '../../infra/manifests/environment-network.ts';
import { environmentDefaults, environmentNamespace, environmentQuota } from '../../infra/manifests/environment.ts';
import { environmentAccess } from '../../infra/manifests/platform/access.ts';
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
import { toBlocker, type Blocker } from '../../runtime/kube/blocker.ts';
import { removeBoundUsers, type BindingLeftovers } from './environment-bindings.ts';

type EnvironmentStatus = NonNullable<ProjectStatus['environments']>[number];

/**
 * The result for one environment. `pending` ends without intervention, `refused` does not, and `gone` means that it was
 * deleted.
 */
export interface EnvironmentOutcome {
  status: EnvironmentStatus;
  outcome: 'ready' | 'pending' | 'refused' | 'gone';
  /** The object that blocks it. */
  blocker?: Blocker;
  /** Milliseconds until the next check, where no watch reports a change. */
  lookInMs?: number;
}

/** Interval of checks while functions delete their users. */
export const leavingMs = 2_000;

/** The records of an environment in PostgreSQL; every call is idempotent. */
interface EnvironmentRecords extends BindingLeftovers {
  /** Deletes its plans and keys; its gated workloads then accept no key. */
  closeEnvironment(environmentId: Id): Promise<void>;
  /**
   * Deletes all of its records, including history. Only after its namespace is gone, because its controllers would
   * write them again.
   */
  deleteEnvironment(environmentId: Id): Promise<void>;
}

/** {@link EnvironmentRecords}, and the records of the project itself. */
export interface ProjectRecords extends EnvironmentRecords {
  /** Deletes its notification targets and its members' roles. */
  deleteProject(projectId: Id): Promise<void>;
}

/** The installation's settings that apply to environments. */
export type EnvironmentSettings = Pick<PlatformConfigSpec, 'ingressAddress' | 'allowPrivateNetworks' | 'defaultLimits'>;

export interface EnvironmentOptions {
  kube: KubeClient;
  platformConfig: () => EnvironmentSettings | undefined;
  records: EnvironmentRecords;
}

/** Creates and deletes the environments of projects. */
export interface Environments {
  ensure(
    project: Stored<Project>,
    environment: EnvironmentSpec,
    settings: EnvironmentSettings,
    apiServers: readonly string[],
  ): Promise<EnvironmentOutcome>;
  /** Deletes an environment with everything in it; `pending` until that is done. */
  remove(project: Stored<Project>, environment: EnvironmentSpec): Promise<EnvironmentOutcome>;
}

export function createEnvironments({ kube, records }: Pick<EnvironmentOptions, 'kube' | 'records'>): Environments {
  const result = (
    { metadata }: Stored<Project>,
    { id, name }: EnvironmentSpec,
    outcome: EnvironmentOutcome['outcome'],
    message?: string,
    blocker?: Blocker,
  ): EnvironmentOutcome => ({
    outcome,
    status: {
      id,
      name,
      namespace: `${metadata.name}-${name}`,
      ready: outcome === 'ready',
      ...(message !== undefined && { message }),
    },
    ...(blocker && { blocker }),
  });

  return {
    async ensure(project, environment, settings, apiServers) {
      const { id, name } = environment;
      const { ingressAddress, allowPrivateNetworks = [], defaultLimits } = settings;
      const projectName = project.metadata.name;
      try {
        const namespace = namespaceOf(checkProjectName(projectName), checkEnvironmentName(name));
        const cached = kube.cache?.get(kinds.Namespace, namespace);
        // The ids of a namespace never change, and the API server rejects writes once it is being deleted.
        const live =
          cached?.metadata.labels?.[environmentIdLabel] === id ? cached : await kube.get(kinds.Namespace, namespace);
        if (live?.metadata.deletionTimestamp !== undefined) {
          return result(project, environment, 'pending', `The namespace "${namespace}" is still being deleted.`);
        }
        if (live && live.metadata.labels?.[environmentIdLabel] !== id) {
          const message = `The namespace "${namespace}" already exists and does not belong to this environment. Delete it or choose another name.`;
          return result(project, environment, 'refused', message, toBlocker(live));
        }
        const projectId = project.metadata.labels?.[idLabel] ?? '';
        const desired = environmentNamespace({ namespace, project: projectName, projectId, name, id });
        await applyObject(kube, desired, { cached: live === cached });
        const limits = effectiveLimits(environment.limits, defaultLimits);
        const ingressNamespace = namespaceInAddress(ingressAddress);
        const network = { namespace, ingressNamespace, apiServers, allowPrivateNetworks };
        // The policies first, so that nothing runs in an environment that is reachable from others. The policy for
        // functions precedes the general one, which excludes functions.
        for (const child of [
          functionsPolicy(network),
          environmentPolicy(network),
          servicesPolicy(network),
          environmentDefaults(namespace, limits),
          environmentQuota(namespace, limits),
          ...environmentAccess(namespace),
        ]) {
          await ensureChild<KubeObject>(kube, project, child, { cached: true });
        }
        return result(project, environment, 'ready');
      } catch (error) {
        if (error instanceof Problem || error instanceof ChildError) {
          const blocker = error instanceof ForeignObjectError ? error.blocker : undefined;
          return result(project, environment, 'refused', error.message, blocker);
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
      // First, so that keys are invalid at once, however long the rest takes.
      await records.closeEnvironment(id);
      if (live?.metadata.labels?.[environmentIdLabel] === id) {
        const { apiVersion, kind, metadata } = live;
        if (metadata.deletionTimestamp === undefined) {
          if (await removeBoundUsers(kube, records, namespace)) {
            const message = 'The users of the functions are being removed from external services.';
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
