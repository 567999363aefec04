import type { Test } from 'tap';
import type { Outcome } from '../../../runtime/bus/runner.ts';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { FunctionEvents, FunctionResource } from '../../../runtime/contracts/resources/function.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfig, PlatformConfigSpec } from '../../../runtime/contracts/resources/platform-config.ts';
import type { ServiceResource } from '../../../runtime/contracts/resources/service.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { workloadLabels } from '../../../runtime/domain/labels.ts';
import { bindingData, bindingSecretName, type BoundCredentials } from '../../../runtime/host/function-bindings.ts';
import { ownedSecret } from '../../../runtime/host/owned-secret.ts';
import { countEvents } from '../../../runtime/records/dead-letters.ts';
import { leaseEvents, recordDelivered } from '../../../runtime/records/event-deliveries.ts';
import { findEventSource, projectEventSource, type FoundEvent } from '../../../runtime/records/function-events.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { createEventsProcessor, type EventsDependencies } from '../../../workers/events/process.ts';
import type { OpenSource } from '../../../workers/events/source.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';

const place = { namespace: 'shop-prod', name: 'intake' };

/** Where the data source is registered to be: a name that only the world's own resolver knows. */
const host = 'source.test';

/**
 * A function with a data source, its records, and its turns. The source is an external service, whose host leads to the
 * address that the credentials name, in a network that the platform's admin opened, unless the platform runs it.
 */
export async function eventWorld(t: Test, { settings, credentials, own = false, ...dependencies }: EventWorldOptions) {
  const { host: address } = credentials;
  const { pool, url } = await testDatabase(t);
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
    const data = bindingData({ ...known, ...(!own && { host }) }, 1);
    kube.seed(ownedSecret(resource, bindingSecretName(place.name, settings.source), data));
  };
  const open = (allowPrivateNetworks: string[]) => {
    const spec: PlatformConfigSpec = {
      ...{ appsDomain: 'apps.test', cluster: 'local', scheme: 'http', entryPoints: ['web'] },
      ...{ runtimeImages: { node: 'r/node:1' }, allowPrivateNetworks },
    };
    const config: PlatformConfig = {
      ...{ apiVersion: 'platform.svc/v1', kind: 'PlatformConfig', metadata: { name: 'platform' } },
      ...{ spec, status: { accepted: { generation: 1, spec } } },
    };
    kube.seed(config);
  };
  open(['127.0.0.0/8']);
  const service: ServiceResource = {
    ...{ apiVersion: 'platform.svc/v1', kind: 'Service' },
    metadata: {
      ...{ namespace: place.namespace, name: settings.source },
      labels: workloadLabels({ kind: 'Service', name: settings.source, id: newId() }),
    },
    spec: { type: settings.type, ...(!own && { external: { host, tls: false } }) },
  };
  kube.seed(service);
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
      lookup: (name) => (name === host ? Promise.resolve([{ address }]) : Promise.reject(new Error(name))),
      ...dependencies,
    },
  });
  return {
    ...{ pool, url, kube, id, resource, bind },
    /** Sets the private networks that workloads, and so data sources, may be in. */
    open,
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
    /** As if another turn had begun meanwhile: the one under way keeps nothing any more. */
    overtake: () => pool.query('UPDATE event_sources SET poll = poll + 1 WHERE workload_id = $1', [id]),
    /** Leases what is due, up to `max`. */
    lease: async (max = 1_000, leaseMs = 60_000) => (await leaseEvents(pool, id, { max, leaseMs })).events,
    /** Leases what is due and records it as delivered. @returns the events' payloads */
    deliver: async (max = 1_000): Promise<unknown[]> => {
      const { events: leased } = await leaseEvents(pool, id, { max, leaseMs: 60_000 });
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
  /** Whether the platform runs the service itself, so that its host is taken as it is. */
  own?: boolean;
}

/** A source each of whose pages is shown before the reader gets it, who waits for that. */
export function showPages(open: OpenSource, show: (page: readonly FoundEvent[]) => unknown): OpenSource {
  return async (request) => {
    const source = await open(request);
    return {
      ...source,
      async *read(signal) {
        for await (const page of source.read(signal)) {
          await show(page);
          yield page;
        }
      },
    };
  };
}

/** A source that records its pages: of each event its size, and null for one that is too large to be kept. */
export function recordPages(open: OpenSource): { open: OpenSource; pages: (number | null)[][] } {
  const pages: (number | null)[][] = [];
  const record = (page: readonly FoundEvent[]) => pages.push(page.map(({ payload }) => payload?.length ?? null));
  return { pages, open: showPages(open, record) };
}

/** The seeded function as it is stored. */
export type SeededFunction = Stored<FunctionResource>;
