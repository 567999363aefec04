import type { Test } from 'tap';
import type { Outcome } from '../../../runtime/bus/runner.ts';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { FunctionEvents, FunctionResource } from '../../../runtime/contracts/resources/function.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { workloadLabels } from '../../../runtime/domain/labels.ts';
import { bindingData, bindingSecretName, type BoundCredentials } from '../../../runtime/host/function-bindings.ts';
import { ownedSecret } from '../../../runtime/host/owned-secret.ts';
import { countEvents } from '../../../runtime/records/dead-letters.ts';
import { leaseEvents, recordDelivered } from '../../../runtime/records/event-deliveries.ts';
import { findEventSource, projectEventSource } from '../../../runtime/records/function-events.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { createEventsProcessor, type EventsDependencies } from '../../../workers/events/process.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';

const place = { namespace: 'shop-prod', name: 'intake' };

/** A function with a data source, its records, and its turns. */
export async function eventWorld(t: Test, { settings, credentials, ...dependencies }: EventWorldOptions) {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  const id = newId();
  const seeded: FunctionResource = {
    ...{ apiVersion: 'platform.svc/v1', kind: 'Function' },
    metadata: { ...place, labels: workloadLabels({ kind: 'Function', name: place.name, id }) },
    spec: { trigger: 'http', port: 8080, idleTimeoutSeconds: 300, runtime: 'node', code: '-', events: settings },
  };
  kube.seed(seeded);
  const resource = await kube.get<FunctionResource>(kinds.Function, place.name, place.namespace);
  if (!resource) throw new Error('a function');
  const bind = (known: BoundCredentials) => {
    kube.seed(ownedSecret(resource, bindingSecretName(place.name, settings.source), bindingData(known, 1)));
  };
  bind(credentials);
  await projectWorkload(pool, {
    ...{ id, kind: 'Function', environmentId: newId(), project: 'shop', environment: 'prod', gated: false, ...place },
  });
  await projectEventSource(pool, id, settings);
  const processEvents = createEventsProcessor({
    ...{
      pool,
      kube,
      clock: systemClock,
      failpoint: () => undefined,
      random: () => 0.5,
      intervalMs: 1,
      ...dependencies,
    },
  });
  return {
    ...{ pool, kube, id, resource, bind },
    /** One turn with the source. @returns in how many ms the next one is wanted; undefined when there is none */
    turn: async (): Promise<number | undefined> => {
      const { signal } = new AbortController();
      const before = Date.now();
      const outcome: Outcome = await processEvents({ recordId: id, attempt: 1, last: false, signal, log: silentLog });
      return outcome === 'done' ? undefined : outcome.again.getTime() - before;
    },
    counts: () => countEvents(pool, id),
    /** How many events are in a state. */
    count: async (state: 'pending' | 'delivered' | 'dead') => {
      const { rowCount } = await pool.query('SELECT 1 FROM function_events WHERE workload_id = $1 AND state = $2', [
        id,
        state,
      ]);
      return rowCount ?? 0;
    },
    state: () => findEventSource(pool, id),
    /** Leases what is due, up to `max`. */
    lease: (max = 1_000, leaseMs = 60_000) => leaseEvents(pool, id, { max, leaseMs }),
    /** Leases what is due and records it as delivered. @returns the events' payloads */
    deliver: async (max = 1_000): Promise<unknown[]> => {
      const leased = await leaseEvents(pool, id, { max, leaseMs: 60_000 });
      await recordDelivered(pool, id, leased);
      return leased.map(({ payload }) => JSON.parse(payload) as unknown);
    },
  };
}

export type EventWorld = Awaited<ReturnType<typeof eventWorld>>;

export interface EventWorldOptions
  extends Pick<EventsDependencies, 'sources'>, Partial<Pick<EventsDependencies, 'failpoint' | 'intervalMs'>> {
  settings: FunctionEvents;
  credentials: BoundCredentials;
}

/** The seeded function as it is stored. */
export type SeededFunction = Stored<FunctionResource>;
