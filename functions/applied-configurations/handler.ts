import type { Pool } from 'pg';
import { z } from 'zod';
import {
  appliedConfigurationUpdate,
  appliedConfigurationView,
  configurationName,
  type AppliedConfigurationView,
} from '../../runtime/contracts/api/applied-configurations.ts';
import { environmentQuery } from '../../runtime/contracts/api/common.ts';
import { transaction } from '../../runtime/db/pool.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { actorOf, route, sessionOf, type Route } from '../../runtime/http/route.ts';
import type { Environment } from '../../runtime/kube/environments.ts';
import {
  deleteAppliedConfiguration,
  findAppliedConfiguration,
  measureOtherConfigurations,
  storeAppliedConfiguration,
  type AppliedConfiguration,
} from '../../runtime/records/applied-configurations.ts';

/** Maximum number of configurations of one environment: one for each file that is applied to it. */
const configurationsMax = 100;
/** What all configurations of a project may take, in bytes. */
const projectMaxBytes = 16 * 1024 * 1024;
/** Room for a file with some thousand objects, in bytes. */
const bodyLimit = 2 * 1024 * 1024;

const path = '/projects/:project/applied-configurations/:name';
const common = {
  path,
  tag: 'applied-configurations',
  params: z.object({ project: z.string().max(100), name: configurationName }),
  query: environmentQuery,
} as const;

interface Dependencies {
  pool: Pool;
  /** @throws Problem `not_found`; `environment_required` that lists the environments */
  resolveEnvironment: (project: string, environment?: string) => Promise<Environment>;
  /** All environments of a project. @throws Problem `not_found` */
  projectEnvironments: (project: string) => Promise<readonly Pick<Environment, 'environmentId'>[]>;
}

/** @throws Problem `conflict` */
function checkRoom({ count, bytes }: { count: number; bytes: number }, added: number): void {
  if (count >= configurationsMax) {
    throw new Problem(
      'conflict',
      `The environment has ${configurationsMax} applied configurations, which is the limit. Delete one first.`,
    );
  }
  if (bytes + added > projectMaxBytes) {
    throw new Problem(
      'conflict',
      `The applied configurations of the project would take more than ${projectMaxBytes / 1024 ** 2} MiB. Delete one first.`,
    );
  }
}

function toView(configuration: AppliedConfiguration, { environment }: Environment): AppliedConfigurationView {
  return { ...configuration, environment, appliedAt: configuration.appliedAt.toISOString() };
}

/** The record of what `svc apply` last applied, which its three-way comparison needs (docs/decisions/0054). */
export function createAppliedConfigurationRoutes({
  pool,
  resolveEnvironment,
  projectEnvironments,
}: Dependencies): Route[] {
  const notFound = (name: string) =>
    new Problem('not_found', `Nothing was applied to this environment from a file named "${name}".`);

  return [
    route({
      ...common,
      method: 'GET',
      access: { project: 'viewer', scope: 'read' },
      summary: 'Shows what was last applied to an environment from a project file.',
      replies: { 200: appliedConfigurationView },
      async handle({ params, query }) {
        const environment = await resolveEnvironment(params.project, query.environment);
        const configuration = await findAppliedConfiguration(pool, environment.environmentId, params.name);
        if (!configuration) throw notFound(params.name);
        return { status: 200, body: toView(configuration, environment) };
      },
    }),
    route({
      ...common,
      method: 'PUT',
      access: { project: 'deployer', scope: 'write' },
      summary: 'Records what was applied from a project file, over the version that the caller has read.',
      audit: 'configuration.apply',
      body: appliedConfigurationUpdate,
      bodyLimit,
      replies: { 200: appliedConfigurationView },
      async handle(request) {
        const { params, query, body } = request;
        const environment = await resolveEnvironment(params.project, query.environment);
        const { environmentId } = environment;
        const appliedBy = actorOf(sessionOf(request));
        const environments = await projectEnvironments(params.project);
        const stored = await transaction(pool, async (client) => {
          const ids = environments.map((one) => one.environmentId);
          const others = await measureOtherConfigurations(client, ids, { environmentId, name: params.name });
          checkRoom(others, Buffer.byteLength(JSON.stringify(body.objects)));
          return storeAppliedConfiguration(client, environmentId, { ...body, name: params.name, appliedBy });
        });
        if (!stored) {
          throw new Problem(
            'conflict',
            'The file was applied by someone else in the meantime. Compare again, then apply.',
          );
        }
        const audit = { environment: environment.environment, configuration: params.name, version: stored.version };
        return { status: 200, body: toView(stored, environment), audit };
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      access: { project: 'deployer', scope: 'write' },
      summary: 'Forgets what was applied from a project file. The objects stay.',
      audit: 'configuration.forget',
      replies: { 204: null },
      async handle({ params, query }) {
        const environment = await resolveEnvironment(params.project, query.environment);
        if (!(await deleteAppliedConfiguration(pool, environment.environmentId, params.name))) {
          throw notFound(params.name);
        }
        return { status: 204, audit: { environment: environment.environment, configuration: params.name } };
      },
    }),
  ];
}
