import type { Test } from 'tap';
import type { Outcome } from '../../../runtime/bus/runner.ts';
import type { FunctionEvents, FunctionResource } from '../../../runtime/contracts/resources/function.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfig, PlatformConfigSpec } from '../../../runtime/contracts/resources/platform-config.ts';
import type { ServiceResource } from '../../../runtime/contracts/resources/service.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { workloadLabels } from '../../../runtime/domain/labels.ts';
import { bindingData, bindingSecretName, type BoundCredentials } from '../../../runtime/workloads/bindings.ts';
import { ownedSecret } from '../../../runtime/workloads/owned-secret.ts';
import { countEvents } from '../../../runtime/records/dead-letters.ts';
import { leaseEvents, recordDelivered } from '../../../runtime/records/event-deliveries.ts';
import type { SourceEvent } from '../../../runtime/domain/events.ts';
import { findEventSource, projectEventSource } from '../../../runtime/records/function-events.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { createEventsProcessor, type EventsDependencies } from '../../../workers/events/process.ts';
import type { OpenSource } from '../../../workers/events/source.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';

const place = { namespace: 'shop-prod', name: 'intake' };

/** The registered host of the data source, which only the world's own resolver knows. */
const host = 'source.test';

/**
 * A function with a data source, its records, and its turns. The source is an external service; its host resolves to
 * the address in the credentials, in a network that the platform's admin opened, unless the service is managed.
 */
export async function eventWorld(t: Test, { settings, credentials, own = false, ...dependencies }: EventWorldOptions) {
  const { host: address } = credentials;
  const { pool, url } = await testDatabase(t);
  const kube = fakeKube();
  const id = newId();
  const seeded: FunctionResource = {
    apiVersion: 'platform.svc/v1',
    kind: 'Function',
    metadata: { ...place, labels: workloadLabels({ kind: 'Function', name: place.name, id }) },
    spec: { trigger: 'http', port: 8080, idleTimeoutSeconds: 300, runtime: 'node', code: '-', events: settings },
  };
  kube.seed(seeded);
  const resource = await kube.get<FunctionResource>(kinds.Function, place.name, place.namespace);
  if (!resource) throw new Error('a function');
  const bind = (boundCredentials: BoundCredentials) => {
    const data = bindingData({ ...boundCredentials, ...(!own && { host }) }, 1);
    kube.seed(ownedSecret(resource, bindingSecretName(resource, settings.source), data));
  };
  const open = (allowPrivateNetworks: string[]) => {
    const spec: PlatformConfigSpec = {
      appsDomain: 'apps.test',
      cluster: 'local',
      scheme: 'http',
      entryPoints: ['web'],
      runtimeImages: { node: 'r/node:1' },
      allowPrivateNetworks,
    };
    const config: PlatformConfig = {
      apiVersion: 'platform.svc/v1',
      kind: 'PlatformConfig',
      metadata: { name: 'platform' },
      spec,
      status: { accepted: { generation: 1, spec } },
    };
    kube.seed(config);
  };
  open(['127.0.0.0/8']);
  const service: ServiceResource = {
    apiVersion: 'platform.svc/v1',
    kind: 'Service',
    metadata: {
      namespace: place.namespace,
      name: settings.source,
      labels: workloadLabels({ kind: 'Service', name: settings.source, id: newId() }),
    },
    spec: { type: settings.type, ...(!own && { external: { host, tls: false } }) },
  };
  kube.seed(service);
  bind(credentials);
  await projectWorkload(pool, {
    id,
    kind: 'Function',
    environmentId: newId(),
    project: 'shop',
    environment: 'prod',
    gated: false,
    ...place,
  });
  await projectEventSource(pool, id, settings);
  const processEvents = createEventsProcessor({
    pool,
    kube,
    // However slow the machine, a turn ends because nothing is left to do, and not because its time is up.
    clock: { ...systemClock, monotonic: () => 0 },
    failpoint: () => undefined,
    random: () => 0.5,
    intervalMs: 1,
    lookup: (name) => (name === host ? Promise.resolve([{ address }]) : Promise.reject(new Error(name))),
    ...dependencies,
  });
  return {
    pool,
    url,
    kube,
    id,
    resource,
    bind,
    /** Sets the private networks that workloads, and so data sources, may be in. */
    open,
    /** Reads the source once. @returns in how many ms the next turn is due; undefined when there is none */
    turn: async (): Promise<number | undefined> => {
      const { signal } = new AbortController();
      const before = Date.now();
      const outcome: Outcome = await processEvents({ recordId: id, attempt: 1, last: false, signal, log: silentLog });
      return outcome === 'done' ? undefined : outcome.again.getTime() - before;
    },
    counts: () => countEvents(pool, id),
    /** The number of events in a state. */
    count: async (state: 'pending' | 'delivered' | 'dead') => {
      const { rowCount } = await pool.query('SELECT 1 FROM function_events WHERE workload_id = $1 AND state = $2', [
        id,
        state,
      ]);
      return rowCount ?? 0;
    },
    state: () => findEventSource(pool, id),
    /** Simulates that another turn has begun, so that the current one can keep nothing. */
    overtake: () => pool.query('UPDATE event_sources SET poll = poll + 1 WHERE workload_id = $1', [id]),
    /** Leases up to `max` events that are due. */
    lease: async (max = 1_000, leaseMs = 60_000) => (await leaseEvents(pool, id, { max, leaseMs })).events,
    /** Leases due events and records them as delivered. @returns the events' payloads */
    deliver: async (max = 1_000): Promise<unknown[]> => {
      const { events: leased } = await leaseEvents(pool, id, { max, leaseMs: 60_000 });
      await recordDelivered(pool, id, leased);
      return leased.map(({ payload }) => JSON.parse(payload) as unknown);
    },
  };
}

export interface EventWorldOptions
  extends Pick<EventsDependencies, 'sources'>, Partial<Pick<EventsDependencies, 'failpoint' | 'intervalMs'>> {
  settings: FunctionEvents;
  credentials: BoundCredentials;
  /** Whether the service is managed, so that its host is used unchanged. */
  own?: boolean;
}

/** A source that shows each page to `onPage` and waits for it before the reader gets the page. */
export function showPages(open: OpenSource, show: (page: readonly SourceEvent[]) => unknown): OpenSource {
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

/** A source that records its pages: the size of each event, or null for one that is too large to keep. */
export function recordPages(open: OpenSource): { open: OpenSource; pages: (number | null)[][] } {
  const pages: (number | null)[][] = [];
  const record = (page: readonly SourceEvent[]) => pages.push(page.map(({ payload }) => payload?.length ?? null));
  return { pages, open: showPages(open, record) };
}
