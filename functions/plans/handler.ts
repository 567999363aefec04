import type { Pool } from 'pg';
import { z } from 'zod';
import type { PlanUpdate, PlanView } from '../../runtime/contracts/api/plans.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { transaction } from '../../runtime/db/pool.ts';
import { checkUnchanged } from '../../runtime/api/seen.ts';
import { differences, keyAudit, keyAuditMessage } from '../../runtime/api/key-audit.ts';
import { pageOfRows } from '../../runtime/http/page.ts';
import { route, type Route } from '../../runtime/http/route.ts';
import { readFeedVersion } from '../../runtime/records/gate.ts';
import {
  deletePlan,
  findPlan,
  findPlanByName,
  insertPlan,
  listPlans,
  updatePlan,
  type Plan,
  type PlanChanges,
} from '../../runtime/records/plans.ts';
import { createPlanSchema, deletePlanSchema, getPlanSchema, listPlansSchema, updatePlanSchema } from './schema.ts';

/** An environment in the routes of plans. */
interface Environment {
  environment: string;
  environmentId: Id;
}

export interface PlanDependencies {
  pool: Pool;
  /**
   * The environment of a request: by name, or the project's only one.
   * @throws Problem `not_found`; `environment_required` that lists the environments
   */
  resolveEnvironment: (project: string, environment?: string) => Promise<Environment>;
  /** All environments of a project. @throws Problem `not_found` */
  projectEnvironments: (project: string) => Promise<readonly Environment[]>;
}

interface Located {
  plan: Plan;
  environment: Environment;
}

function toView({ id, name, requestsPerSecond, burst, quota, keys, createdAt }: Plan, { environment }: Environment) {
  return {
    id,
    name,
    environment,
    requestsPerSecond,
    burst,
    keys,
    createdAt: createdAt.toISOString(),
    ...(quota && { quota }),
  } satisfies PlanView;
}

/** A plan in the audit log. */
function audited({ id, name, requestsPerSecond, burst, quota }: Plan) {
  return { id, name, requestsPerSecond, burst, quota };
}

function changesOf({ name, requestsPerSecond, burst, quota }: PlanUpdate): PlanChanges {
  return {
    ...(name !== undefined && { name }),
    ...(requestsPerSecond !== undefined && { requestsPerSecond }),
    ...(burst !== undefined && { burst }),
    ...(quota !== undefined && { quota }),
  };
}

function notFound(project: string, idOrName: string): Problem {
  return new Problem(
    'not_found',
    `The project "${project}" has no plan "${idOrName}". List its plans with \`svc plan list\`.`,
  );
}

/** The usage plans of an environment (docs/reference/gate.md#plans). */
export function createPlanRoutes({ pool, resolveEnvironment, projectEnvironments }: PlanDependencies): Route[] {
  /** By id in any environment of the project, or by name in one environment. */
  const locate = async (project: string, idOrName: string, environmentName?: string): Promise<Located> => {
    const byId = z.uuid().safeParse(idOrName).success;
    const environments =
      byId && environmentName === undefined
        ? await projectEnvironments(project)
        : [await resolveEnvironment(project, environmentName)];
    const ids = environments.map(({ environmentId }) => environmentId);
    const plan = byId ? await findPlan(pool, ids, idOrName) : await findPlanByName(pool, ids[0] ?? '', idOrName);
    const environment = environments.find(({ environmentId }) => environmentId === plan?.environmentId);
    if (!plan || !environment) throw notFound(project, idOrName);
    return { plan, environment };
  };

  const create = route({
    method: 'POST',
    path: '/projects/:project/plans',
    access: { project: 'admin' },
    summary: 'Creates a usage plan: a rate, a burst and an optional quota for each of its keys.',
    tag: 'plans',
    audit: 'plan.create',
    auditMessage: keyAuditMessage,
    ...createPlanSchema,
    async handle(request) {
      const { params, query, body } = request;
      const environment = await resolveEnvironment(params.project, query.environment);
      const { environmentId } = environment;
      const { plan, version } = await transaction(pool, async (client) => ({
        plan: await insertPlan(client, { ...body, environmentId, quota: body.quota ?? null }),
        version: await readFeedVersion(client),
      }));
      const subject = { plan: audited(plan) };
      const audit = keyAudit({ environment: environment.environment, subject, version });
      return { status: 201, body: { ...toView(plan, environment), change: { version } }, audit };
    },
  });

  const list = route({
    method: 'GET',
    path: '/projects/:project/plans',
    access: { project: 'viewer', scope: 'read' },
    summary: 'Lists the usage plans of an environment, newest first.',
    tag: 'plans',
    ...listPlansSchema,
    async handle({ params, query }) {
      const environment = await resolveEnvironment(params.project, query.environment);
      const { limit, cursor } = query;
      const plans = await listPlans(pool, environment.environmentId, { limit: limit + 1, before: cursor });
      const page = pageOfRows(plans, limit, { cursorOf: ({ id }) => id, toItem: (plan) => toView(plan, environment) });
      return { status: 200, body: page };
    },
  });

  const read = route({
    method: 'GET',
    path: '/projects/:project/plans/:plan',
    access: { project: 'viewer', scope: 'read' },
    summary: 'Shows a usage plan, by its id, or by its name in one environment.',
    tag: 'plans',
    ...getPlanSchema,
    async handle({ params, query }) {
      const { plan, environment } = await locate(params.project, params.plan, query.environment);
      return { status: 200, body: toView(plan, environment) };
    },
  });

  const update = route({
    method: 'PATCH',
    path: '/projects/:project/plans/:plan',
    access: { project: 'admin' },
    summary: 'Changes a usage plan. The gate applies the change to all its keys within seconds.',
    tag: 'plans',
    audit: 'plan.update',
    auditMessage: keyAuditMessage,
    ...updatePlanSchema,
    async handle(request) {
      const { params, query, body } = request;
      const { plan, environment } = await locate(params.project, params.plan, query.environment);
      const updated = await updatePlan(pool, plan.id, changesOf(body), (before) =>
        checkUnchanged(body.replaces ?? {}, audited(before), {
          what: `the plan "${before.name}"`,
          command: `svc plan show ${before.id}`,
        }),
      );
      if (!updated) throw notFound(params.project, params.plan);
      const { before, after, version } = updated;
      if (version === undefined) return { status: 200, body: toView(after, environment), audit: false };
      const audit = keyAudit({
        environment: environment.environment,
        version,
        subject: { plan: audited(after) },
        changes: differences(audited(before), audited(after)),
      });
      return { status: 200, body: { ...toView(after, environment), change: { version } }, audit };
    },
  });

  const remove = route({
    method: 'DELETE',
    path: '/projects/:project/plans/:plan',
    access: { project: 'admin' },
    summary: 'Deletes a usage plan that has no keys.',
    tag: 'plans',
    audit: 'plan.delete',
    auditMessage: keyAuditMessage,
    ...deletePlanSchema,
    async handle(request) {
      const { params, query } = request;
      const { plan, environment } = await locate(params.project, params.plan, query.environment);
      const version = await deletePlan(pool, plan.id);
      if (version === undefined) throw notFound(params.project, params.plan);
      const subject = { plan: audited(plan) };
      const audit = keyAudit({ environment: environment.environment, subject, version });
      return { status: 200, body: { id: plan.id, name: plan.name, change: { version } }, audit };
    },
  });

  return [create, list, read, update, remove];
}
