import type { Pool } from 'pg';
import { transaction } from '../../runtime/db/pool.ts';
import { createTurnLookup } from '../../runtime/db/turn-lookup.ts';
import { hasEnded } from '../../runtime/domain/deployment.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { acceptDeployment } from '../../runtime/records/acceptance.ts';
import { neededEnvironments } from '../../runtime/records/automatic-rollback.ts';
import { closeEnvironmentRecords, deleteEnvironmentRecords } from '../../runtime/records/environments.ts';
import { deleteServiceDatabaseRecords, hasBoundUsers, projectBindings } from '../../runtime/records/bindings.ts';
import { findEventful, findEventSource, projectEventSource } from '../../runtime/records/function-events.ts';
import { findPolled, projectGitSource } from '../../runtime/records/git-sources.ts';
import { deleteProjectMembers } from '../../runtime/records/members.ts';
import { deleteProjectNotifications } from '../../runtime/records/notifications.ts';
import { forgetProjectSources, issueSourceToken } from '../../runtime/records/sources.ts';
import {
  findProjected,
  markWorkloadDeleted,
  projectWorkload,
  type WorkloadProjection,
} from '../../runtime/records/workloads.ts';
import type { AppControllerOptions } from './app.ts';
import type { BuildRecords } from './build-run.ts';
import type { ProjectRecords } from './environment.ts';
import type { FunctionControllerOptions } from './function.ts';
import type { JobControllerOptions } from './job.ts';
import type { ServiceControllerOptions } from './service.ts';

/** What the controllers write to PostgreSQL. */
export interface ControllerRecords {
  apps: AppControllerOptions['records'];
  builds: BuildRecords;
  functions: FunctionControllerOptions['records'];
  jobs: JobControllerOptions['records'];
  projects: ProjectRecords;
  services: ServiceControllerOptions['records'];
}

/**
 * The records of all controllers in one database. What almost every pass finds unchanged is looked up for many workloads
 * together.
 */
export function createControllerRecords(pool: Pool): ControllerRecords {
  const isProjected = createTurnLookup((workloads: readonly WorkloadProjection[]) => findProjected(pool, workloads));
  const isEventful = createTurnLookup((ids: readonly Id[]) => findEventful(pool, ids));
  const isPolled = createTurnLookup((ids: readonly Id[]) => findPolled(pool, ids));
  const jobs: ControllerRecords['jobs'] = {
    async project(workload) {
      if (!(await isProjected(workload))) await projectWorkload(pool, workload);
    },
    markDeleted: (id) => markWorkloadDeleted(pool, id),
    projectBindings: (id, bindings) => projectBindings(pool, id, bindings),
  };
  return {
    jobs,
    apps: {
      ...jobs,
      neededEnvironments: (id) => neededEnvironments(pool, id),
      async projectGit(id, source) {
        if (source ?? (await isPolled(id))) await projectGitSource(pool, id, source);
      },
      async deployFirst(workloadId, image, { actor, promotion }) {
        const { from, ...details } = promotion ?? {};
        const origin = from
          ? ({ trigger: 'promotion', promotedFrom: from } as const)
          : ({ trigger: 'manual' } as const);
        const first = {
          workloadId,
          ...origin,
          ...details,
          image,
          actor,
          dedupKey: 'initial',
          onlyFirst: true,
        } as const;
        await transaction(pool, (client) => acceptDeployment(client, first));
      },
      async deployEdited(workloadId, image, dedupKey) {
        const edit = { workloadId, trigger: 'manual', image, actor: 'kubectl', dedupKey } as const;
        const { state } = await transaction(pool, (client) => acceptDeployment(client, edit));
        return !hasEnded(state);
      },
    },
    builds: { issueSourceToken: (deploymentId) => issueSourceToken(pool, deploymentId) },
    functions: {
      ...jobs,
      async projectEvents(id, settings) {
        if (!settings && !(await isEventful(id))) return undefined;
        await projectEventSource(pool, id, settings);
        return settings && ((await findEventSource(pool, id))?.error ?? undefined);
      },
    },
    projects: {
      hasBoundUsers: (namespace, services) => hasBoundUsers(pool, namespace, services),
      closeEnvironment: (id) => closeEnvironmentRecords(pool, id),
      deleteEnvironment: (id) => deleteEnvironmentRecords(pool, id),
      async deleteProject(id) {
        await deleteProjectNotifications(pool, id);
        await deleteProjectMembers(pool, id);
        await forgetProjectSources(pool, id);
      },
    },
    services: { forgetDatabases: (id) => deleteServiceDatabaseRecords(pool, id) },
  };
}
