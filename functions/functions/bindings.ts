import type { Pool } from 'pg';
import type { z } from 'zod';
import type { bindingUpdate, BindingView } from '../../runtime/contracts/api/bindings.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { checkDatabase } from '../../runtime/contracts/resources/bound-database.ts';
import {
  bindingStatus,
  boundServices,
  functionBindingsMax,
  type FunctionBinding,
  type FunctionResource,
  type FunctionSpec,
} from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { ServiceResource, ServiceType } from '../../runtime/contracts/resources/service.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { bindingNames, checkBindingNames, defaultPrefixes } from '../../runtime/host/function-bindings.ts';
import { route, sessionOf, type Route } from '../../runtime/host/route.ts';
import { getLivingWorkload, getWorkload, workloadIdOf } from '../../runtime/host/workload-objects.ts';
import { resolveEnvironment, type Environment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { findDatabase } from '../../runtime/records/function-bindings.ts';
import { changeFunction } from './change.ts';
import type { FunctionDependencies } from './handler.ts';
import { bindingPhase } from './view.ts';
import { bindSchema, getBindingSchema, listBindingsSchema, unbindSchema } from './schema.ts';

const tag = 'functions';
const path = '/projects/:project/functions/:function/bindings';

type Types = ReadonlyMap<string, ServiceType>;

/**
 * `/projects/{p}/functions/{f}/bindings`: the services that a function uses. What is asked for stands in the Function's
 * spec; the queue `bindings` does the rest.
 */
export function bindingRoutes({
  kube,
  pool,
  clock,
  baseUrl,
}: Pick<FunctionDependencies, 'kube' | 'pool' | 'clock' | 'baseUrl'>): Route[] {
  const living = (environment: Environment, name: string) => () =>
    getLivingWorkload<FunctionResource>(kube, 'Function', environment, name);
  const accepted = (environment: Environment, object: Stored<FunctionResource>, types: Types, service: string) => {
    const { project, environment: name } = environment;
    const own = `${baseUrl}/api/v1/projects/${project}/functions/${object.metadata.name}/bindings/${service}`;
    const statusUrl = `${own}?environment=${name}`;
    const body = { ...viewOf(object, types, bindingOf(object, service)), statusUrl };
    return { status: 202 as const, headers: { Location: statusUrl }, body };
  };

  return [
    route({
      ...listBindingsSchema,
      method: 'GET',
      path,
      access: { project: 'viewer' },
      tag,
      summary: 'Lists the services that a function is bound to, and the variables that they bring.',
      async handle({ params, query }) {
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const object = await getWorkload<FunctionResource>(kube, 'Function', environment, params.function);
        const types = await typesIn(kube, environment);
        const items = (object.spec.bindings ?? []).map((binding) => viewOf(object, types, binding));
        return { status: 200, body: { items } };
      },
    }),
    route({
      ...getBindingSchema,
      method: 'GET',
      path: `${path}/:service`,
      access: { project: 'viewer' },
      tag,
      summary: 'Shows how far a binding is.',
      async handle({ params, query }) {
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const object = await getWorkload<FunctionResource>(kube, 'Function', environment, params.function);
        return {
          status: 200,
          body: viewOf(object, await typesIn(kube, environment), bindingOf(object, params.service)),
        };
      },
    }),
    route({
      ...bindSchema,
      method: 'PUT',
      path: `${path}/:service`,
      access: { project: 'deployer' },
      tag,
      summary: 'Binds a function to a service, with a database and user of its own; once more makes a new password.',
      async handle(request) {
        const { params, query, body, log } = request;
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const service = await getLivingWorkload<ServiceResource>(kube, 'Service', environment, params.service);
        const types = await typesIn(kube, environment);
        if (body.database !== undefined) {
          checkDatabase(service.spec.type, body.database);
          await checkDatabaseFree(
            ...([pool, service, body.database] as const),
            workloadIdOf(await living(environment, params.function)()),
          );
        }
        let renewed = false;
        const changed = await changeFunction(kube, living(environment, params.function), (found) => {
          renewed = found.spec.bindings?.some((each) => each.service === params.service) ?? false;
          const own = { name: params.function, spec: found.spec };
          const spec = boundSpec(own, params.service, body, clock.now());
          checkNames(spec, types);
          return Promise.resolve(spec);
        });
        log.info(
          {
            ...{ function: params.function, namespace: environment.namespace, service: params.service },
            actor: sessionOf(request).email,
          },
          'function bound',
        );
        const answer = accepted(environment, changed, types, params.service);
        return { ...answer, body: { ...answer.body, renewed } };
      },
    }),
    route({
      ...unbindSchema,
      method: 'DELETE',
      path: `${path}/:service`,
      access: { project: 'deployer' },
      tag,
      summary:
        'Takes a binding and its user away; its database stays unless `dropDatabase` is true (202 until it is gone).',
      async handle(request) {
        const { params, query, log } = request;
        const { dropDatabase } = query;
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const changed = await changeFunction(kube, living(environment, params.function), async (found) => {
          const binding = bindingOf(found, params.service);
          if (found.spec.events?.source === params.service) throw isSource(found, params.service);
          if (dropDatabase) await checkOwnDatabase(kube, pool, found, binding);
          return unboundSpec(found, params.service, dropDatabase);
        });
        log.info(
          {
            ...{ function: params.function, namespace: environment.namespace, service: params.service, dropDatabase },
            actor: sessionOf(request).email,
          },
          'function unbound',
        );
        if (!dropDatabase) return { status: 204 };
        return accepted(environment, changed, await typesIn(kube, environment), params.service);
      },
    }),
  ];
}

/** The types of the services of an environment, by name. */
export async function typesIn(kube: Pick<KubeClient, 'list'>, { namespace }: Environment): Promise<Types> {
  const { items } = await kube.list<ServiceResource>(kinds.ServiceResource, { namespace });
  return new Map(items.map(({ metadata, spec }) => [metadata.name, spec.type]));
}

/** The function's spec with a binding, new or once more. @throws Problem `not_ready`, `invalid_value` */
export function boundSpec(
  { name, spec }: { name: string; spec: FunctionSpec },
  service: string,
  { prefix, database }: z.output<typeof bindingUpdate>,
  now: Date,
): FunctionSpec {
  const { bindings = [] } = spec;
  const before = bindings.find((binding) => binding.service === service);
  if (before?.dropDatabase === true) {
    throw new Problem(
      'not_ready',
      `The binding of "${name}" to "${service}" is still being taken away; try again in a moment.`,
    );
  }
  const binding: FunctionBinding = {
    service,
    ...(before?.prefix !== undefined && { prefix: before.prefix }),
    ...(before?.database !== undefined && { database: before.database }),
    ...(prefix !== undefined && { prefix }),
    ...(database !== undefined && { database }),
    // Larger than of any binding that it had to this service, whose credentials may still be there.
    version: Math.max(before?.version ?? 0, Math.floor(now.getTime() / 1000)) + 1,
  };
  const all = [...bindings.filter((other) => other.service !== service), binding];
  if (all.length > functionBindingsMax) {
    throw new Problem('invalid_value', `A function has at most ${functionBindingsMax} bindings.`);
  }
  return { ...spec, bindings: all.sort((a, b) => (a.service < b.service ? -1 : 1)) };
}

function unboundSpec({ spec }: Stored<FunctionResource>, service: string, dropDatabase: boolean): FunctionSpec {
  const { bindings = [], ...rest } = spec;
  const left = dropDatabase
    ? bindings.map((binding) => (binding.service === service ? { ...binding, dropDatabase } : binding))
    : bindings.filter((binding) => binding.service !== service);
  return left.length === 0 ? rest : { ...rest, bindings: left };
}

/** @throws Problem `not_found` */
function bindingOf({ metadata, spec }: Stored<FunctionResource>, service: string): FunctionBinding {
  const found = spec.bindings?.find((binding) => binding.service === service);
  if (found) return found;
  throw new Problem(
    'not_found',
    `The function "${metadata.name}" is not bound to "${service.slice(0, 100)}"; list what it is bound to with \`svc function bindings ${metadata.name}\`.`,
  );
}

/** @throws Problem `invalid_value` for names that another binding sets, or that cannot be */
export function checkNames(spec: FunctionSpec, types: Types): void {
  checkBindingNames(
    boundServices(spec).flatMap((binding) => {
      const type = types.get(binding.service);
      return type === undefined ? [] : [{ ...binding, type }];
    }),
  );
}

/** @param owner undefined for a new function @throws Problem `in_use` for a database that another function's binding made */
export async function checkDatabaseFree(
  pool: Pool,
  service: Stored<ServiceResource>,
  database: string,
  owner: Id | undefined,
): Promise<void> {
  const holder = await findDatabase(pool, workloadIdOf(service), database);
  if (!holder || holder.name === null || holder.workloadId === owner) return;
  throw new Problem(
    'in_use',
    `The database "${database}" was made for the function "${holder.name}"; choose another one.`,
    { details: { field: 'database', function: holder.name } },
  );
}

/** @throws Problem `conflict` for a database that is not the binding's to drop */
async function checkOwnDatabase(
  kube: KubeClient,
  pool: Pool,
  owner: Stored<FunctionResource>,
  binding: FunctionBinding,
): Promise<void> {
  const database = bindingStatus(owner, binding)?.database ?? binding.database;
  const service = await kube.get<ServiceResource>(kinds.ServiceResource, binding.service, owner.metadata.namespace);
  const holder =
    service && database !== undefined ? await findDatabase(pool, workloadIdOf(service), database) : undefined;
  if (holder?.workloadId === workloadIdOf(owner)) return;
  throw new Problem(
    'conflict',
    `The binding to "${binding.service}" has no database that was made for it, so none can be dropped; unbind without --drop-database.`,
  );
}

function isSource({ metadata }: Stored<FunctionResource>, service: string): Problem {
  return new Problem(
    'in_use',
    `The events of the function "${metadata.name}" come from "${service}"; give it another trigger first (svc function update).`,
  );
}

function viewOf(object: Stored<FunctionResource>, types: Types, binding: FunctionBinding): BindingView {
  const { service } = binding;
  const type = types.get(service);
  const known = bindingStatus(object, binding);
  const status = bindingPhase(object, binding);
  const prefix = binding.prefix ?? (type && defaultPrefixes[type]);
  const database = known?.database ?? binding.database;
  return {
    service,
    ...(type !== undefined && { type }),
    status,
    ...(known?.message !== undefined && { message: known.message }),
    ...(prefix !== undefined && { prefix }),
    ...(database !== undefined && { database }),
    variables: type === undefined || status === 'deleting' ? [] : bindingNames(binding, type),
  };
}
