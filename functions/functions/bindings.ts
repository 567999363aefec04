import type { Pool } from 'pg';
import { z } from 'zod';
import {
  bindingAccepted,
  bindingUpdate,
  bindingView,
  unbindQuery,
  type BindingView,
} from '../../runtime/contracts/api/bindings.ts';
import { environmentQuery } from '../../runtime/contracts/api/common.ts';
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
import type { ObjectRoutes } from '../../runtime/api/object-routes.ts';
import type { Route } from '../../runtime/http/route.ts';
import type { Environment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { findDatabase } from '../../runtime/records/function-bindings.ts';
import { bindingNames, checkBindingNames, defaultPrefixes } from '../../runtime/workloads/function-bindings.ts';
import { getLivingWorkload, workloadIdOf } from '../../runtime/workloads/objects.ts';
import { changeFunction } from './change.ts';
import type { FunctionDependencies } from './dependencies.ts';
import { bindingPhase } from './view.ts';

type ServiceTypes = ReadonlyMap<string, ServiceType>;

/** `/bindings` of a function. The binding is part of the Function's spec; the queue `bindings` creates the credentials. */
export function bindingRoutes(
  functions: ObjectRoutes<FunctionResource>,
  { kube, pool, clock, baseUrl }: Pick<FunctionDependencies, 'kube' | 'pool' | 'clock' | 'baseUrl'>,
): Route[] {
  const acceptedReply = async (environment: Environment, object: Stored<FunctionResource>, service: string) => {
    const path = `projects/${environment.project}/functions/${object.metadata.name}/bindings/${service}`;
    const statusUrl = `${baseUrl}/api/v1/${path}?environment=${environment.environment}`;
    const types = await serviceTypes(kube, environment);
    const body = { ...bindingToView(object, types, bindingOf(object, service)), statusUrl };
    return { status: 202 as const, headers: { Location: statusUrl }, body };
  };

  return [
    functions.route({
      method: 'GET',
      path: '/bindings',
      access: { project: 'viewer' },
      summary: 'Lists the services that a function is bound to, and the variables that it gets from them.',
      replies: { 200: z.object({ items: z.array(bindingView) }) },
      async handle({ environment, find }) {
        const object = await find();
        const types = await serviceTypes(kube, environment);
        const items = (object.spec.bindings ?? []).map((binding) => bindingToView(object, types, binding));
        return { status: 200, body: { items } };
      },
    }),
    functions.route({
      method: 'GET',
      path: '/bindings/:service',
      access: { project: 'viewer' },
      summary: 'Shows a binding’s status.',
      replies: { 200: bindingView },
      async handle({ params, environment, find }) {
        const object = await find();
        const types = await serviceTypes(kube, environment);
        return { status: 200, body: bindingToView(object, types, bindingOf(object, params.service)) };
      },
    }),
    functions.route({
      method: 'PUT',
      path: '/bindings/:service',
      access: { project: 'deployer' },
      summary: 'Binds a function to a service with its own user and database. Repeating it rotates the password.',
      audit: 'function.bind',
      body: bindingUpdate,
      replies: { 202: bindingAccepted },
      async handle({ params, body, environment, name, findLiving }) {
        const service = await getLivingWorkload<ServiceResource>(kube, 'Service', environment, params.service);
        const types = await serviceTypes(kube, environment);
        if (body.database !== undefined) {
          checkDatabase(service.spec.type, body.database);
          await checkDatabaseFree(pool, service, body.database, workloadIdOf(await findLiving()));
        }
        let renewed = false;
        const changed = await changeFunction(kube, findLiving, async ({ spec: current }) => {
          renewed = current.bindings?.some((binding) => binding.service === params.service) ?? false;
          const spec = boundSpec({ name, spec: current }, params.service, body, clock.now());
          checkNames(spec, types);
          return spec;
        });
        const reply = await acceptedReply(environment, changed, params.service);
        return { ...reply, body: { ...reply.body, renewed } };
      },
    }),
    functions.route({
      method: 'DELETE',
      path: '/bindings/:service',
      access: { project: 'deployer' },
      summary:
        'Deletes a binding and its user. Its database is kept unless `dropDatabase` is true (202 until it is deleted).',
      audit: 'function.unbind',
      query: environmentQuery.extend(unbindQuery.shape),
      replies: { 202: bindingAccepted, 204: null },
      async handle({ params, query: { dropDatabase }, environment, findLiving }) {
        const changed = await changeFunction(kube, findLiving, async (current) => {
          const binding = bindingOf(current, params.service);
          if (current.spec.events?.source === params.service) throw isEventSource(current, params.service);
          if (dropDatabase) await checkOwnDatabase(kube, pool, current, binding);
          return unboundSpec(current, params.service, dropDatabase);
        });
        const reply = dropDatabase ? await acceptedReply(environment, changed, params.service) : { status: 204 };
        return { ...reply, audit: { dropDatabase } };
      },
    }),
  ];
}

/** The types of the services of an environment, by name. */
export async function serviceTypes(kube: Pick<KubeClient, 'list'>, { namespace }: Environment): Promise<ServiceTypes> {
  const { items } = await kube.list<ServiceResource>(kinds.ServiceResource, { namespace });
  return new Map(items.map(({ metadata, spec }) => [metadata.name, spec.type]));
}

/** The function's spec with a new or renewed binding. @throws Problem `not_ready`, `invalid_value` */
export function boundSpec(
  { name, spec }: { name: string; spec: FunctionSpec },
  service: string,
  { prefix, database }: z.output<typeof bindingUpdate>,
  now: Date,
): FunctionSpec {
  const { bindings = [] } = spec;
  const current = bindings.find((binding) => binding.service === service);
  if (current?.dropDatabase === true) {
    throw new Problem(
      'not_ready',
      `The binding of "${name}" to "${service}" is still being deleted. Try again in a moment.`,
    );
  }
  const binding: FunctionBinding = {
    service,
    ...(current?.prefix !== undefined && { prefix: current.prefix }),
    ...(current?.database !== undefined && { database: current.database }),
    ...(prefix !== undefined && { prefix }),
    ...(database !== undefined && { database }),
    // Larger than the version of any earlier binding to this service, whose credentials may still exist.
    version: Math.max(current?.version ?? 0, Math.floor(now.getTime() / 1000)) + 1,
  };
  const all = [...bindings.filter((entry) => entry.service !== service), binding];
  if (all.length > functionBindingsMax) {
    throw new Problem('invalid_value', `A function has at most ${functionBindingsMax} bindings.`);
  }
  return { ...spec, bindings: all.sort((a, b) => (a.service < b.service ? -1 : 1)) };
}

function unboundSpec({ spec }: Stored<FunctionResource>, service: string, dropDatabase: boolean): FunctionSpec {
  const { bindings = [], ...rest } = spec;
  const remaining = dropDatabase
    ? bindings.map((binding) => (binding.service === service ? { ...binding, dropDatabase } : binding))
    : bindings.filter((binding) => binding.service !== service);
  return remaining.length === 0 ? rest : { ...rest, bindings: remaining };
}

/** @throws Problem `not_found` */
function bindingOf({ metadata, spec }: Stored<FunctionResource>, service: string): FunctionBinding {
  const binding = spec.bindings?.find((entry) => entry.service === service);
  if (binding) return binding;
  throw new Problem(
    'not_found',
    `The function "${metadata.name}" is not bound to "${service.slice(0, 100)}". List its bindings with \`svc function bindings ${metadata.name}\`.`,
  );
}

/** @throws Problem `invalid_value` for variable names that two bindings set, or that are not usable */
export function checkNames(spec: FunctionSpec, types: ServiceTypes): void {
  checkBindingNames(
    boundServices(spec).flatMap((binding) => {
      const type = types.get(binding.service);
      return type === undefined ? [] : [{ ...binding, type }];
    }),
  );
}

/** @param owner undefined for a new function @throws Problem `in_use` for a database of another function's binding */
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
    `The database "${database}" belongs to the function "${holder.name}". Choose another one.`,
    { details: { field: 'database', function: holder.name } },
  );
}

/** @throws Problem `conflict` for a database that was not created for the binding */
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
    `No database was created for the binding to "${binding.service}", so none can be dropped. Unbind without --drop-database.`,
  );
}

function isEventSource({ metadata }: Stored<FunctionResource>, service: string): Problem {
  return new Problem(
    'in_use',
    `"${service}" is the event source of the function "${metadata.name}". Change the function’s trigger first (svc function update).`,
  );
}

function bindingToView(object: Stored<FunctionResource>, types: ServiceTypes, binding: FunctionBinding): BindingView {
  const { service } = binding;
  const type = types.get(service);
  const observed = bindingStatus(object, binding);
  const status = bindingPhase(object, binding);
  const prefix = binding.prefix ?? (type && defaultPrefixes[type]);
  const database = observed?.database ?? binding.database;
  return {
    service,
    ...(type !== undefined && { type }),
    status,
    ...(observed?.message !== undefined && { message: observed.message }),
    ...(prefix !== undefined && { prefix }),
    ...(database !== undefined && { database }),
    variables: type === undefined || status === 'deleting' ? [] : bindingNames(binding, type),
  };
}
