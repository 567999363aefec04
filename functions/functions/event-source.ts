import type { Pool } from 'pg';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { checkDatabase } from '../../runtime/contracts/resources/bound-database.ts';
import { typesWith } from '../../runtime/contracts/resources/event-fields.ts';
import { boundServices } from '../../runtime/contracts/resources/binding.ts';
import type { FunctionResource, FunctionSpec } from '../../runtime/contracts/resources/function.ts';
import type { ServiceResource } from '../../runtime/contracts/resources/service.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { getLivingWorkload, workloadIdOf } from '../../runtime/workloads/objects.ts';
import { checkDatabaseFree, checkNames, serviceTypes, withBinding } from '../../runtime/api/binding-routes.ts';
import type { Environment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { countEvents, countUndelivered } from '../../runtime/records/dead-letters.ts';
import { findEventSource, originOf } from '../../runtime/records/function-events.ts';
import type { EventsState } from './view.ts';

/**
 * The spec with a binding to its event source, if it has none yet.
 * @param owner the function; a new one has no id @param database of that binding; default: the function's own
 * @throws Problem `not_found`, `invalid_value` for a service of another type, `in_use`
 */
export async function withSourceBound(
  { kube, pool, clock }: { kube: KubeClient; pool: Pool; clock: Clock },
  environment: Environment,
  { name, id, spec }: { name: string; id?: Id; spec: FunctionSpec },
  database: string | undefined,
): Promise<FunctionSpec> {
  const { events } = spec;
  if (!events) return spec;
  const { source, type } = events;
  const service = await getLivingWorkload<ServiceResource>(kube, 'Service', environment, source);
  if (service.spec.type !== type) {
    throw invalid(
      'events.source',
      `The service "${source}" has the type ${service.spec.type}; --trigger ${type} requires a --source of the type ${type}.`,
    );
  }
  if (events.bucket !== undefined) checkDatabase(type, events.bucket, 'events.bucket');
  const binding = boundServices(spec).find(({ service: name }) => name === source);
  if (binding) {
    if (database === undefined || database === binding.database) return spec;
    throw invalid(
      'events.database',
      `"${name}" is already bound to "${source}". Change its database with \`svc function bind ${name} ${source} --database ${database}\`.`,
    );
  }
  if (database !== undefined) {
    checkDatabase(type, database);
    await checkDatabaseFree(pool, service, database, id);
  }
  const bindings = withBinding({ name, bindings: spec.bindings ?? [] }, { service: source, database }, clock.now());
  checkNames(bindings, await serviceTypes(kube, environment));
  return { ...spec, bindings };
}

/**
 * Checks that no events are lost when a function's event source is removed.
 * @throws Problem `undelivered_events` while there are undelivered events that their source will not return again
 */
export async function checkDelivered(pool: Pool, object: Stored<FunctionResource>): Promise<void> {
  const { events } = object.spec;
  if (!events) return;
  // Rows stay in their table until they are marked as done. List items were removed from their list, and a bucket does not
  // report a deleted object again.
  const origin = typesWith('query').includes(events.type) ? originOf(events) : undefined;
  const { waiting, dead } = await countUndelivered(pool, workloadIdOf(object), origin);
  if (waiting + dead === 0) return;
  const { name } = object.metadata;
  const counted = (count: number, word: string) => `${count} ${word}${count === 1 ? '' : 's'}`;
  const list = [
    ...(waiting > 0 ? [`${counted(waiting, 'undelivered event')} (svc function events ${name})`] : []),
    ...(dead > 0 ? [`${counted(dead, 'dead letter')} (svc function dead-letters list ${name})`] : []),
  ].join(' and ');
  throw new Problem(
    'undelivered_events',
    `The function "${name}" has ${list} that its source will not return again. To lose them, use --discard-events ("discardEvents").`,
    { details: { waiting, dead } },
  );
}

/** The counts and the state of a function's event source; undefined for a function without one. */
export async function readEventsState(pool: Pool, object: Stored<FunctionResource>): Promise<EventsState | undefined> {
  if (!object.spec.events) return undefined;
  const id = workloadIdOf(object);
  const [counts, source] = await Promise.all([countEvents(pool, id), findEventSource(pool, id)]);
  return { counts, source };
}

function invalid(field: string, message: string): Problem {
  return new Problem('invalid_value', message, { details: { field } });
}

/** @throws Problem `in_use` for the binding to the function's event source */
export function checkNoEventSource({ metadata, spec }: Stored<FunctionResource>, service: string): void {
  if (spec.events?.source !== service) return;
  throw new Problem(
    'in_use',
    `"${service}" is the event source of the function "${metadata.name}". Change the function’s trigger first (svc function update).`,
  );
}
