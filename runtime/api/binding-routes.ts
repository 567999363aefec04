import type { Pool } from 'pg';
import { z } from 'zod';
import {
  bindingAccepted,
  bindingUpdate,
  bindingView,
  unbindQuery,
  type BindingSummary,
  type BindingView,
  type NewBinding,
} from '../contracts/api/bindings.ts';
import { environmentQuery } from '../contracts/api/common.ts';
import type { Stored } from '../contracts/kubernetes.ts';
import {
  bindingStatus,
  boundServices,
  bindingsMax,
  defaultPrefixes,
  type Binding,
  type BindingStatus,
} from '../contracts/resources/binding.ts';
import { checkDatabase } from '../contracts/resources/bound-database.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { ServiceResource, ServiceType } from '../contracts/resources/service.ts';
import type { Clock } from '../domain/clock.ts';
import type { Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';
import type { Variable } from '../domain/variables.ts';
import type { Route } from '../http/route.ts';
import type { Environment } from '../kube/environments.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { findDatabase } from '../records/bindings.ts';
import { bindingNames, checkBindingNames } from '../workloads/bindings.ts';
import { getLivingWorkload, workloadIdOf, type Configurable } from '../workloads/objects.ts';
import type { ObjectRoutes } from './object-routes.ts';
import { retryOnConflict } from './retry-on-conflict.ts';

type ServiceTypes = ReadonlyMap<string, ServiceType>;

/** How one kind of workload gets its bindings. */
export interface BindingKind<Workload extends Configurable> {
  /** For summaries: `an app`. */
  phrase: string;
  /** @throws Problem for a binding that the workload still needs */
  checkUnbind?: (workload: Stored<Workload>, service: string) => void;
}

interface Dependencies {
  kube: KubeClient;
  pool: Pool;
  clock: Pick<Clock, 'now'>;
  /** The public address of the management API. */
  baseUrl: string;
}

/** `/bindings` below a workload's path. A binding is part of its spec; the queue `bindings` creates the credentials. */
export function bindingRoutes<Workload extends Configurable>(
  objects: ObjectRoutes<Workload>,
  { kube, pool, clock, baseUrl }: Dependencies,
  { phrase, checkUnbind }: BindingKind<Workload>,
): Route[] {
  const acceptedReply = async (environment: Environment, object: Stored<Workload>, service: string) => {
    const { kind, metadata } = object;
    const path = `projects/${environment.project}/${kind.toLowerCase()}s/${metadata.name}/bindings/${service}`;
    const statusUrl = `${baseUrl}/api/v1/${path}?environment=${environment.environment}`;
    const types = await serviceTypes(kube, environment);
    const body = { ...bindingToView(object, types, bindingOf(object, service)), statusUrl };
    return { status: 202 as const, headers: { Location: statusUrl }, body };
  };

  return [
    objects.route({
      method: 'GET',
      path: '/bindings',
      access: { project: 'viewer', scope: 'read' },
      summary: `Lists the services that ${phrase} is bound to, and the variables that it gets from them.`,
      replies: { 200: z.object({ items: z.array(bindingView) }) },
      async handle({ environment, find }) {
        const object = await find();
        const types = await serviceTypes(kube, environment);
        const items = (object.spec.bindings ?? []).map((binding) => bindingToView(object, types, binding));
        return { status: 200, body: { items } };
      },
    }),
    objects.route({
      method: 'GET',
      path: '/bindings/:service',
      access: { project: 'viewer', scope: 'read' },
      summary: `Shows the status of a binding of ${phrase}.`,
      replies: { 200: bindingView },
      async handle({ params, environment, find }) {
        const object = await find();
        const types = await serviceTypes(kube, environment);
        return { status: 200, body: bindingToView(object, types, bindingOf(object, params.service)) };
      },
    }),
    objects.route({
      method: 'PUT',
      path: '/bindings/:service',
      access: { project: 'deployer', scope: 'write' },
      summary: `Binds ${phrase} to a service with its own user and database. Repeating it rotates the password.`,
      audit: 'binding.set',
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
        const changed = await changeBindings(kube, findLiving, async ({ spec: { bindings = [] } }) => {
          renewed = bindings.some((binding) => binding.service === params.service);
          const next = withBinding({ name, bindings }, { service: params.service, ...body }, clock.now());
          checkNames(next, types);
          return next;
        });
        const reply = await acceptedReply(environment, changed, params.service);
        return { ...reply, body: { ...reply.body, renewed } };
      },
    }),
    objects.route({
      method: 'DELETE',
      path: '/bindings/:service',
      access: { project: 'deployer', scope: 'write' },
      summary:
        'Deletes a binding and its user. Its database is kept unless `dropDatabase` is true (202 until it is deleted).',
      audit: 'binding.delete',
      query: environmentQuery.extend(unbindQuery.shape),
      replies: { 202: bindingAccepted, 204: null },
      async handle({ params, query: { dropDatabase }, environment, findLiving }) {
        const changed = await changeBindings(kube, findLiving, async (current) => {
          const binding = bindingOf(current, params.service);
          checkUnbind?.(current, params.service);
          if (dropDatabase) await checkOwnDatabase(kube, pool, current, binding);
          return withoutBinding(current.spec.bindings ?? [], params.service, dropDatabase);
        });
        const reply = dropDatabase ? await acceptedReply(environment, changed, params.service) : { status: 204 };
        return { ...reply, audit: { dropDatabase } };
      },
    }),
  ];
}

/** Changes a workload's bindings based on its current state; concurrent changes are both applied. */
function changeBindings<Workload extends Configurable>(
  kube: Pick<KubeClient, 'mergePatch'>,
  find: () => Promise<Stored<Workload>>,
  next: (current: Stored<Workload>) => Promise<Binding[]>,
): Promise<Stored<Workload>> {
  return retryOnConflict(find, async (current) => {
    const bindings = await next(current);
    const { apiVersion, kind, metadata } = current;
    const { name, namespace = '', uid, resourceVersion } = metadata;
    return kube.mergePatch<Workload>(
      { apiVersion, kind, namespace, name },
      { metadata: { uid, resourceVersion }, spec: { bindings: bindings.length === 0 ? null : bindings } },
    );
  });
}

/**
 * The bindings of a new workload, and what they will set, with empty values.
 * @throws Problem `not_found` for a service that does not exist, `invalid_value`, `in_use`
 */
export async function newBindings(
  { kube, pool, clock }: Omit<Dependencies, 'baseUrl'>,
  environment: Environment,
  name: string,
  requested: readonly NewBinding[],
): Promise<{ bindings: Binding[]; variables: Variable[] }> {
  if (requested.length === 0) return { bindings: [], variables: [] };
  const types = await serviceTypes(kube, environment);
  let bindings: Binding[] = [];
  for (const request of requested) {
    const service = await getLivingWorkload<ServiceResource>(kube, 'Service', environment, request.service);
    if (bindings.some((binding) => binding.service === request.service)) {
      throw new Problem('invalid_value', `The service "${request.service}" is named twice. Name it once.`, {
        details: { field: 'bindings' },
      });
    }
    if (request.database !== undefined) {
      checkDatabase(service.spec.type, request.database, 'bindings');
      await checkDatabaseFree(pool, service, request.database, undefined);
    }
    bindings = withBinding({ name, bindings }, request, clock.now());
  }
  checkNames(bindings, types);
  const variables = bindings.flatMap((binding) => {
    const type = types.get(binding.service);
    return type === undefined ? [] : bindingNames(binding, type).map((variable) => ({ name: variable, value: '' }));
  });
  return { bindings, variables };
}

/** The types of the services of an environment, by name. */
export async function serviceTypes(kube: Pick<KubeClient, 'list'>, { namespace }: Environment): Promise<ServiceTypes> {
  const { items } = await kube.list<ServiceResource>(kinds.ServiceResource, { namespace });
  return new Map(items.map(({ metadata, spec }) => [metadata.name, spec.type]));
}

/** The bindings of a workload with a new or renewed one. Absent settings keep their value. @throws Problem `not_ready`, `invalid_value` */
export function withBinding(
  { name, bindings }: { name: string; bindings: readonly Binding[] },
  { service, prefix, database }: NewBinding,
  now: Date,
): Binding[] {
  const current = bindings.find((binding) => binding.service === service);
  if (current?.dropDatabase === true) {
    throw new Problem(
      'not_ready',
      `The binding of "${name}" to "${service}" is still being deleted. Try again in a moment.`,
    );
  }
  const binding: Binding = {
    service,
    ...(current?.prefix !== undefined && { prefix: current.prefix }),
    ...(current?.database !== undefined && { database: current.database }),
    ...(prefix !== undefined && { prefix }),
    ...(database !== undefined && { database }),
    // Larger than the version of any earlier binding to this service, whose credentials may still exist.
    version: Math.max(current?.version ?? 0, Math.floor(now.getTime() / 1000)) + 1,
  };
  const all = [...bindings.filter((entry) => entry.service !== service), binding];
  if (all.length > bindingsMax) {
    throw new Problem('invalid_value', `A workload has at most ${bindingsMax} bindings.`);
  }
  return all.sort((a, b) => (a.service < b.service ? -1 : 1));
}

function withoutBinding(bindings: readonly Binding[], service: string, dropDatabase: boolean): Binding[] {
  return dropDatabase
    ? bindings.map((binding) => (binding.service === service ? { ...binding, dropDatabase } : binding))
    : bindings.filter((binding) => binding.service !== service);
}

/** @throws Problem `not_found` */
function bindingOf({ kind, metadata, spec }: Configurable, service: string): Binding {
  const binding = spec.bindings?.find((entry) => entry.service === service);
  if (binding) return binding;
  const what = kind.toLowerCase();
  throw new Problem(
    'not_found',
    `The ${what} "${metadata.name}" is not bound to "${service.slice(0, 100)}". List its bindings with \`svc ${what} bindings ${metadata.name}\`.`,
  );
}

/** @throws Problem `invalid_value` for variable names that two bindings set, or that are not usable */
export function checkNames(bindings: Binding[], types: ServiceTypes): void {
  checkBindingNames(
    boundServices({ bindings }).flatMap((binding) => {
      const type = types.get(binding.service);
      return type === undefined ? [] : [{ ...binding, type }];
    }),
  );
}

/** @param owner undefined for a new workload @throws Problem `in_use` for a database of another workload's binding */
export async function checkDatabaseFree(
  pool: Pool,
  service: Stored<ServiceResource>,
  database: string,
  owner: Id | undefined,
): Promise<void> {
  const holder = await findDatabase(pool, workloadIdOf(service), database);
  if (!holder?.kind || holder.workloadId === owner) return;
  const kind = holder.kind.toLowerCase();
  throw new Problem(
    'in_use',
    `The database "${database}" belongs to the ${kind} "${holder.name}". Choose another one.`,
    { details: { field: 'database', [kind]: holder.name } },
  );
}

/** @throws Problem `conflict` for a database that was not created for the binding */
async function checkOwnDatabase(
  kube: KubeClient,
  pool: Pool,
  owner: Stored<Configurable>,
  binding: Binding,
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

function bindingToView(object: Stored<Configurable>, types: ServiceTypes, binding: Binding): BindingView {
  const { service } = binding;
  const type = types.get(service);
  const observed = bindingStatus(object, binding);
  const status = bindingPhase(object, binding);
  const prefix = binding.prefix ?? (type && defaultPrefixes[type]);
  const database = observed?.database ?? binding.database;
  const message = status === 'pending' && observed?.phase === 'ready' ? beingApplied : observed?.message;
  return {
    service,
    ...(type !== undefined && { type }),
    status,
    ...(message !== undefined && { message }),
    ...(prefix !== undefined && { prefix }),
    ...(database !== undefined && { database }),
    variables: type === undefined || status === 'deleting' ? [] : bindingNames(binding, type),
  };
}

/** Why a function's binding is pending although it has credentials. */
const beingApplied = 'The function gets its variables.';

/** A binding's status in the API. */
function bindingPhase(object: Configurable, binding: Binding): BindingSummary['status'] {
  const deleting = binding.dropDatabase === true || object.metadata.deletionTimestamp !== undefined;
  if (deleting) return 'deleting';
  const observed = bindingStatus(object, binding);
  return isUnapplied(object, observed) ? 'pending' : (observed?.phase ?? 'pending');
}

/**
 * Whether a function's binding has credentials that a pod, if a request started one now, would not get yet. When they cannot be
 * applied, the function has failed and says why.
 */
function isUnapplied({ kind, status }: Configurable, observed: BindingStatus | undefined): boolean {
  return kind === 'Function' && observed?.phase === 'ready' && observed.applied !== true && status?.phase !== 'failed';
}

/** The bindings of a workload as its own view shows them; absent without any. */
export function shortBindings(object: Configurable): { bindings?: BindingSummary[] } {
  const { bindings } = object.spec;
  if (!bindings) return {};
  return { bindings: bindings.map((binding) => ({ service: binding.service, status: bindingPhase(object, binding) })) };
}
