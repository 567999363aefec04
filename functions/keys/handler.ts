import type { Pool } from 'pg';
import { z } from 'zod';
import type { KeyView } from '../../runtime/contracts/api/keys.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { route, sessionOf, type Route, type RouteRequest } from '../../runtime/host/route.ts';
import { deleteKey, findKey, insertKey, listKeys, setKeyEnabled, type ApiKey } from '../../runtime/records/keys.ts';
import { findPlan, findPlanByName, type Plan } from '../../runtime/records/plans.ts';
import { createKeySchema, getKeySchema, listKeysSchema, revokeKeySchema, updateKeySchema } from './schema.ts';

/** What keys know of an environment. */
interface Environment {
  environment: string;
  environmentId: Id;
  namespace: string;
}

export interface KeyDependencies {
  pool: Pool;
  clock: Clock;
  /**
   * One environment of a project: the named one, else its only one.
   * @throws Problem `not_found`; `environment_required` that names them
   */
  resolveEnvironment: (project: string, environment?: string) => Promise<Environment>;
  /** All environments of a project. @throws Problem `not_found` */
  projectEnvironments: (project: string) => Promise<readonly Environment[]>;
  /** The app (no other kind of workload) of this name that exists now. */
  findApp: (namespace: string, name: string) => Promise<{ id: Id } | undefined>;
}

interface Located {
  record: ApiKey;
  environment: Environment;
}

function toView({ record, environment }: Located): KeyView {
  return {
    id: record.id,
    handle: record.handle,
    ...(record.name !== null && { name: record.name }),
    environment: environment.environment,
    plan: record.planName,
    ...(record.apps !== null && { apps: record.apps }),
    enabled: record.enabled,
    ...(record.expiresAt && { expiresAt: record.expiresAt.toISOString() }),
    createdAt: record.createdAt.toISOString(),
    createdBy: record.createdBy,
  };
}

/** The entry of spec.md §6.3: who did what to which key; the log adds when. The key's handle, never the key. */
function audit(
  request: RouteRequest<{ project: string }, unknown, unknown>,
  action: 'key.create' | 'key.enable' | 'key.disable' | 'key.revoke',
  { record, environment }: Located,
): void {
  const { id, handle, name, planName, apps, expiresAt } = record;
  request.log.info(
    {
      action,
      actor: sessionOf(request).email,
      project: request.params.project,
      environment: environment.environment,
      apiKey: { id, handle, name, plan: planName, apps, expiresAt },
    },
    'apikey audit',
  );
}

function refuse(field: string, message: string): never {
  throw new Problem('invalid_value', message, { details: { field } });
}

/** API keys of an environment (spec.md §2.2): create, list, read, enable, disable, revoke. */
export function createKeyRoutes(dependencies: KeyDependencies): Route[] {
  const { pool, clock, resolveEnvironment, projectEnvironments, findApp } = dependencies;

  /** By id or handle, anywhere in the project unless an environment is named. */
  const locate = async (project: string, idOrHandle: string, environmentName?: string): Promise<Located> => {
    const environments =
      environmentName === undefined
        ? await projectEnvironments(project)
        : [await resolveEnvironment(project, environmentName)];
    const ids = environments.map(({ environmentId }) => environmentId);
    const record = await findKey(pool, ids, idOrHandle);
    const environment = environments.find(({ environmentId }) => environmentId === record?.environmentId);
    // What was asked for may be a whole key, pasted by mistake: it is not repeated.
    if (!record || !environment) {
      throw new Problem('not_found', `The project "${project}" has no API key of this id or handle; list its keys.`);
    }
    return { record, environment };
  };

  const planOf = async ({ environment, environmentId }: Environment, idOrName: string): Promise<Plan> => {
    const byId = z.uuid().safeParse(idOrName).success;
    const plan =
      (byId ? await findPlan(pool, [environmentId], idOrName) : undefined) ??
      (await findPlanByName(pool, environmentId, idOrName));
    return (
      plan ?? refuse('plan', `The environment "${environment}" has no plan "${idOrName}"; create it or choose another.`)
    );
  };

  const scopeOf = async ({ environment, namespace }: Environment, names: readonly string[]): Promise<Id[]> => {
    const found = await Promise.all(names.map(async (name) => ({ name, id: (await findApp(namespace, name))?.id })));
    const missing = found.filter(({ id }) => id === undefined).map(({ name }) => `"${name}"`);
    if (missing.length > 0) {
      refuse('apps', `The environment "${environment}" has no app ${missing.join(', ')}; a key opens apps that exist.`);
    }
    return found.flatMap(({ id }) => id ?? []);
  };

  const expiryOf = (text: string): Date => {
    const expiry = new Date(text);
    if (expiry <= clock.now()) refuse('expiresAt', `The expiry ${text} is in the past; choose a later one.`);
    return expiry;
  };

  const create = route({
    method: 'POST',
    path: '/projects/:project/api-keys',
    access: 'session',
    summary: 'Creates an API key; the answer is the only place where the full key is ever shown.',
    tag: 'keys',
    ...createKeySchema,
    async handle(request) {
      const { params, query, body } = request;
      const expiresAt = body.expiresAt === undefined ? null : expiryOf(body.expiresAt);
      const environment = await resolveEnvironment(params.project, query.environment);
      const plan = await planOf(environment, body.plan);
      const apps = body.apps ? [...new Set(body.apps)].sort() : null;
      const created = await insertKey(pool, {
        environmentId: environment.environmentId,
        name: body.name ?? null,
        planId: plan.id,
        scope: apps && (await scopeOf(environment, apps)),
        expiresAt,
        createdBy: sessionOf(request).email,
      });
      // An app that was created a moment ago may not have been recorded yet: name what was asked for.
      const located = { record: { ...created.record, apps }, environment };
      audit(request, 'key.create', located);
      return { status: 201, body: { ...toView(located), key: created.key } };
    },
  });

  const list = route({
    method: 'GET',
    path: '/projects/:project/api-keys',
    access: 'session',
    summary: 'Lists the API keys of an environment, newest first.',
    tag: 'keys',
    ...listKeysSchema,
    async handle({ params, query }) {
      const environment = await resolveEnvironment(params.project, query.environment);
      const { limit, cursor } = query;
      // One more than asked for tells whether there is a next page.
      const records = await listKeys(pool, environment.environmentId, { limit: limit + 1, before: cursor });
      const items = records.slice(0, limit).map((record) => toView({ record, environment }));
      return { status: 200, body: { items, ...(records.length > limit && { nextCursor: items.at(-1)?.id }) } };
    },
  });

  const read = route({
    method: 'GET',
    path: '/projects/:project/api-keys/:key',
    access: 'session',
    summary: 'Reads an API key by its id or handle.',
    tag: 'keys',
    ...getKeySchema,
    async handle({ params, query }) {
      return { status: 200, body: toView(await locate(params.project, params.key, query.environment)) };
    },
  });

  const update = route({
    method: 'PATCH',
    path: '/projects/:project/api-keys/:key',
    access: 'session',
    summary: 'Enables or disables an API key; the gate follows within seconds.',
    tag: 'keys',
    ...updateKeySchema,
    async handle(request) {
      const { params, query, body } = request;
      const { record } = await locate(params.project, params.key, query.environment);
      const changed = await setKeyEnabled(pool, record.id, body.enabled);
      // Read again: somebody may have revoked it meanwhile.
      const located = await locate(params.project, record.id, query.environment);
      if (changed) audit(request, body.enabled ? 'key.enable' : 'key.disable', located);
      return { status: 200, body: toView(located) };
    },
  });

  const revoke = route({
    method: 'DELETE',
    path: '/projects/:project/api-keys/:key',
    access: 'session',
    summary: 'Revokes an API key for good; the gate follows within seconds.',
    tag: 'keys',
    ...revokeKeySchema,
    async handle(request) {
      const { params, query } = request;
      const located = await locate(params.project, params.key, query.environment);
      if (await deleteKey(pool, located.record.id)) audit(request, 'key.revoke', located);
      return { status: 204 };
    },
  });

  return [create, list, read, update, revoke];
}
