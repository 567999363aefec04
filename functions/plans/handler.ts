import type { Pool } from 'pg';
import { z } from 'zod';
import type { PlanView } from '../../runtime/contracts/api/keys.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { route, sessionOf, type Route, type RouteRequest } from '../../runtime/host/route.ts';
import { deletePlan, findPlan, findPlanByName, insertPlan, listPlans, type Plan } from '../../runtime/records/plans.ts';
import { createPlanSchema, deletePlanSchema, getPlanSchema, listPlansSchema } from './schema.ts';

/** What plans know of an environment. */
interface Environment {
  environment: string;
  environmentId: Id;
}

export interface PlanDependencies {
  pool: Pool;
  /**
   * One environment of a project: the named one, else its only one.
   * @throws Problem `not_found`; `environment_required` that names them
   */
  resolveEnvironment: (project: string, environment?: string) => Promise<Environment>;
  /** All environments of a project. @throws Problem `not_found` */
  projectEnvironments: (project: string) => Promise<readonly Environment[]>;
}

interface Located {
  plan: Plan;
  environment: Environment;
}

function toView({ id, name, requestsPerSecond, burst, createdAt }: Plan, { environment }: Environment): PlanView {
  return { id, name, environment, requestsPerSecond, burst, createdAt: createdAt.toISOString() };
}

/** The entry of spec.md §6.3: who did what to which plan; the log adds when. */
function audit(
  request: RouteRequest<{ project: string }, unknown, unknown>,
  action: 'plan.create' | 'plan.delete',
  { plan, environment }: Located,
): void {
  const { id, name, requestsPerSecond, burst } = plan;
  request.log.info(
    {
      action,
      actor: sessionOf(request).email,
      project: request.params.project,
      environment: environment.environment,
      plan: { id, name, requestsPerSecond, burst },
    },
    'apikey audit',
  );
}

/** Usage plans of an environment (spec.md §2.1): create, list, read, delete. */
export function createPlanRoutes({ pool, resolveEnvironment, projectEnvironments }: PlanDependencies): Route[] {
  /** By id anywhere in the project, or by name in the environment that is named or the only one. */
  const locate = async (project: string, idOrName: string, environmentName?: string): Promise<Located> => {
    const byId = z.uuid().safeParse(idOrName).success;
    const environments =
      byId && environmentName === undefined
        ? await projectEnvironments(project)
        : [await resolveEnvironment(project, environmentName)];
    const ids = environments.map(({ environmentId }) => environmentId);
    const plan = byId ? await findPlan(pool, ids, idOrName) : await findPlanByName(pool, ids[0] ?? '', idOrName);
    const environment = environments.find(({ environmentId }) => environmentId === plan?.environmentId);
    if (!plan || !environment) {
      throw new Problem('not_found', `The project "${project}" has no plan "${idOrName}"; list its plans to see them.`);
    }
    return { plan, environment };
  };

  const create = route({
    method: 'POST',
    path: '/projects/:project/plans',
    access: 'session',
    summary: 'Creates a usage plan: a rate and a burst for each key that is on it.',
    tag: 'plans',
    ...createPlanSchema,
    async handle(request) {
      const { params, query, body } = request;
      const environment = await resolveEnvironment(params.project, query.environment);
      const plan = await insertPlan(pool, { environmentId: environment.environmentId, ...body });
      audit(request, 'plan.create', { plan, environment });
      return { status: 201, body: toView(plan, environment) };
    },
  });

  const list = route({
    method: 'GET',
    path: '/projects/:project/plans',
    access: 'session',
    summary: 'Lists the usage plans of an environment, newest first.',
    tag: 'plans',
    ...listPlansSchema,
    async handle({ params, query }) {
      const environment = await resolveEnvironment(params.project, query.environment);
      const { limit, cursor } = query;
      // One more than asked for tells whether there is a next page.
      const plans = await listPlans(pool, environment.environmentId, { limit: limit + 1, before: cursor });
      const items = plans.slice(0, limit).map((plan) => toView(plan, environment));
      return { status: 200, body: { items, ...(plans.length > limit && { nextCursor: items.at(-1)?.id }) } };
    },
  });

  const read = route({
    method: 'GET',
    path: '/projects/:project/plans/:plan',
    access: 'session',
    summary: 'Reads a usage plan by its id, or by its name in one environment.',
    tag: 'plans',
    ...getPlanSchema,
    async handle({ params, query }) {
      const { plan, environment } = await locate(params.project, params.plan, query.environment);
      return { status: 200, body: toView(plan, environment) };
    },
  });

  const remove = route({
    method: 'DELETE',
    path: '/projects/:project/plans/:plan',
    access: 'session',
    summary: 'Deletes a usage plan that no key is on.',
    tag: 'plans',
    ...deletePlanSchema,
    async handle(request) {
      const { params, query } = request;
      const located = await locate(params.project, params.plan, query.environment);
      if (await deletePlan(pool, located.plan.id)) audit(request, 'plan.delete', located);
      return { status: 204 };
    },
  });

  return [create, list, read, remove];
}
