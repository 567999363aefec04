import type { Pool } from 'pg';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { checkDatabase } from '../../runtime/contracts/resources/bound-database.ts';
import { typesWith } from '../../runtime/contracts/resources/event-fields.ts';
import { boundServices, type FunctionResource, type FunctionSpec } from '../../runtime/contracts/resources/function.ts';
import type { ServiceResource } from '../../runtime/contracts/resources/service.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { getLivingWorkload, workloadIdOf } from '../../runtime/host/workload-objects.ts';
import type { Environment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { countEvents, countUndelivered } from '../../runtime/records/dead-letters.ts';
import { findEventSource, originOf } from '../../runtime/records/function-events.ts';
import { boundSpec, checkDatabaseFree, checkNames, typesIn } from './bindings.ts';
import type { EventsState } from './view.ts';

/**
 * The spec with a binding to its data source, where it has none yet.
 * @param owner the function; without an id it is new @param database of that binding, default one of the function's own
 * @throws Problem `not_found` for no such service, `invalid_value` for one of another type, `in_use`
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
    throw refusal(
      'events.source',
      `The service "${source}" is of type ${service.spec.type}; --trigger ${type} needs a --source of type ${type}.`,
    );
  }
  if (events.bucket !== undefined) checkDatabase(type, events.bucket, 'events.bucket');
  const bound = boundServices(spec).find((binding) => binding.service === source);
  if (bound) {
    if (database === undefined || database === bound.database) return spec;
    throw refusal(
      'events.database',
      `"${name}" is bound to "${source}" already; choose another database with \`svc function bind ${name} ${source} --database ${database}\`.`,
    );
  }
  if (database !== undefined) {
    checkDatabase(type, database);
    await checkDatabaseFree(pool, service, database, id);
  }
  const next = boundSpec({ name, spec }, source, { database }, clock.now());
  checkNames(next, await typesIn(kube, environment));
  return next;
}

/**
 * Before a function loses its data source, and with it all that is kept of its events.
 * @throws Problem `undelivered_events` while there are some that it has not taken and that their source does not bring again
 */
export async function checkDelivered(pool: Pool, found: Stored<FunctionResource>): Promise<void> {
  const { events } = found.spec;
  if (!events) return;
  // Rows stay where they are until they are marked; items leave their list, and nobody tells again of an object that is gone.
  const kept = typesWith('query').includes(events.type) ? originOf(events) : undefined;
  const { waiting, dead } = await countUndelivered(pool, workloadIdOf(found), kept);
  if (waiting + dead === 0) return;
  const { name } = found.metadata;
  const some = [
    ...(waiting > 0
      ? [`${waiting} ${waiting === 1 ? 'event' : 'events'} to be delivered (svc function events ${name})`]
      : []),
    ...(dead > 0
      ? [`${dead} ${dead === 1 ? 'dead letter' : 'dead letters'} (svc function dead-letters list ${name})`]
      : []),
  ].join(' and ');
  throw new Problem(
    'undelivered_events',
    `The function "${name}" has ${some}, which its source does not bring again; with --discard-events ("discardEvents") they are lost.`,
    { details: { waiting, dead } },
  );
}

/** How far a function's events are; undefined for one without. */
export async function readEventsState(pool: Pool, found: Stored<FunctionResource>): Promise<EventsState | undefined> {
  if (!found.spec.events) return undefined;
  const id = workloadIdOf(found);
  const [counts, source] = await Promise.all([countEvents(pool, id), findEventSource(pool, id)]);
  return { counts, source };
}

function refusal(field: string, message: string): Problem {
  return new Problem('invalid_value', message, { details: { field } });
}
