import type { Test } from 'tap';
import type { FunctionEvents, FunctionResource } from '../../../runtime/contracts/resources/function.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { workloadLabels } from '../../../runtime/domain/labels.ts';
import { findEventSource, projectEventSource } from '../../../runtime/records/function-events.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { createEventsProcessor, type EventsDependencies } from '../../../workers/events/process.ts';
import type { SourceCredentials } from '../../../workers/events/source.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';

export interface SourceWorldOptions
  extends Pick<EventsDependencies, 'sources'>, Partial<Pick<EventsDependencies, 'failpoint'>> {
  settings: FunctionEvents;
  credentials: SourceCredentials;
}

const place = { namespace: 'shop-prod', name: 'intake' };

/** A function with a data source, its records, and its turns; what is found is delivered by hand. */
export async function sourceWorld(t: Test, { settings, credentials, ...dependencies }: SourceWorldOptions) {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  const id = newId();
  const resource: FunctionResource = {
    ...{ apiVersion: 'platform.svc/v1', kind: 'Function' },
    metadata: { ...place, labels: workloadLabels({ kind: 'Function', name: place.name, id }) },
    spec: { trigger: 'http', port: 8080, idleTimeoutSeconds: 300, runtime: 'node', code: '-', events: settings },
  };
  kube.seed(resource);
  await projectWorkload(pool, {
    ...{ id, kind: 'Function', environmentId: newId(), project: 'shop', environment: 'prod', gated: false, ...place },
  });
  await projectEventSource(pool, id, settings);
  let known = credentials;
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
    credentialsOf: () => Promise.resolve(known),
  });
  return {
    ...{ pool, id },
    bind: (changed: SourceCredentials) => {
      known = changed;
    },
    /** One turn with the source. */
    turn: () =>
      processEvents({
        ...{ recordId: id, attempt: 1, last: false, log: silentLog },
        signal: new AbortController().signal,
      }),
    state: () => findEventSource(pool, id),
    /** How many events are in a state. */
    count: async (state: 'pending' | 'delivered' | 'dead') => {
      const { rowCount } = await pool.query('SELECT 1 FROM function_events WHERE workload_id = $1 AND state = $2', [
        id,
        state,
      ]);
      return rowCount ?? 0;
    },
    /** Delivers what waits, up to `max`. @returns the payloads in the order in which they were found */
    deliver: async (max = 1_000): Promise<unknown[]> => {
      const { rows } = await pool.query<{ payload: string }>(
        `WITH waiting AS (
           SELECT id, payload FROM function_events WHERE workload_id = $1 AND state = 'pending' ORDER BY id LIMIT $2),
         delivered AS (
           UPDATE function_events e SET payload = '', ended_at = now(), due_at = now(),
             state = CASE WHEN s.settings ? 'markDone' THEN 'delivered' ELSE 'known' END
           FROM waiting w, event_sources s WHERE e.id = w.id AND s.workload_id = $1)
         SELECT payload FROM waiting ORDER BY id`,
        [id, max],
      );
      return rows.map(({ payload }) => JSON.parse(payload) as unknown);
    },
  };
}
