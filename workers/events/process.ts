import type { Pool } from 'pg';
import { createOwnerShares } from '../../runtime/bus/owner-shares.ts';
import type { Attempt, Outcome, Processor } from '../../runtime/bus/runner.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { EventType, FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import type { LookupAll } from '../../runtime/services/address.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { catalogue } from '../../runtime/queues/catalogue.ts';
import type { NameLookup } from '../../runtime/process/name-lookup.ts';
import { NoClientError } from '../../runtime/process/client-pool.ts';
import { findEventSource, recordPass, type EventSourceState } from '../../runtime/records/function-events.ts';
import { findBindingStatus, readSourceCredentials } from './source-credentials.ts';
import { SourceError, type OpenSource } from './source.ts';
import { runPass } from './pass.ts';

export interface EventsDependencies {
  pool: Pool;
  kube: Pick<KubeClient, 'get'>;
  /** How a source of each type is opened. */
  sources: Readonly<Partial<Record<EventType, OpenSource>>>;
  clock: Clock;
  /** Called with the name of each step, at which tests kill the process. */
  failpoint: (name: string) => void;
  /** Between two readings that found nothing, in ms; default 5 s. */
  intervalMs?: number;
  /** Between 0 and 1; default `Math.random`. */
  random?: () => number;
  /** Resolves the names of external services; default: the system's resolver. */
  names?: NameLookup;
  /** For tests: resolves them instead. */
  lookup?: LookupAll;
}

const defaultIntervalMs = 5_000;
/** The longest interval between two readings of a source that keeps failing. */
const failingMaxMs = 5 * 60_000;
/** Retry delay while the controller has not processed a change yet. */
const soonMs = 1_000;
/**
 * What a project uses of the queue: half. Of the client processes it has fewer, and each source that waits for one or for a
 * name takes a place (decision 0082).
 */
const share = { perOwner: catalogue.events.places / 2, waitMs: 3_000, soonMs, spacingMs: 25 };

/**
 * One pass over one function's data source: marks delivered events as done and copies new ones into the function's events
 * (docs/reference/functions.md#events). The work row is the schedule: every outcome sets the next pass, and an
 * acknowledgement brings it forward. A failing source is no failure of the work: it is shown in the function's status and
 * read less often.
 */
export function createEventsProcessor(dependencies: EventsDependencies): Processor {
  const { pool, kube, sources, clock, random = Math.random } = dependencies;
  const { intervalMs = defaultIntervalMs, names } = dependencies;
  const shares = createOwnerShares(clock, catalogue.events, share);

  const visit = async (resource: Stored<FunctionResource>, state: EventSourceState, signal: AbortSignal) => {
    const { workloadId, project, settings } = state;
    const open = sources[settings.type];
    if (!open) throw new SourceError(`This installation does not read event sources of type ${settings.type}.`);
    const lookup = dependencies.lookup ?? (names && ((host: string) => names(project, host)));
    const credentials = await readSourceCredentials(kube, resource, settings.source, lookup);
    const source = await open({ workloadId, project, settings, ...credentials });
    try {
      return await runPass({ ...dependencies, intervalMs }, source, state, signal);
    } finally {
      await source.close();
    }
  };

  const readSource = async (state: EventSourceState, { recordId, signal, log }: Attempt): Promise<Outcome> => {
    const { namespace, name } = state;
    const again = (ms: number) => ({ again: new Date(clock.now().getTime() + ms * (0.75 + random() / 2)) });
    const resource = await kube.get<FunctionResource>(kinds.Function, name, namespace);
    if (resource?.metadata.labels?.[idLabel] !== recordId) return again(soonMs);
    // Events that leave the source now would be deleted with the function.
    if (resource.metadata.deletionTimestamp !== undefined || !resource.spec.events) return again(soonMs);
    if (findBindingStatus(resource, state.settings.source)?.phase === 'pending') return again(soonMs);
    try {
      const started = clock.monotonic();
      const result = await visit(resource, state, signal);
      await recordPass(pool, recordId, result.problem);
      if (result.added > 0) log.info({ namespace, function: name, events: result.added }, 'events found');
      if (result.more) return again(0);
      // Leaves a slow source idle for half as long as the pass took.
      return again(Math.max(intervalMs, result.problem === undefined ? 0 : soonMs, (clock.monotonic() - started) / 2));
    } catch (error) {
      if (error instanceof NoClientError) return again(soonMs);
      if (!(error instanceof SourceError)) throw error;
      await recordPass(pool, recordId, error.message.slice(0, 500));
      log.debug({ namespace, function: name, reason: error.message }, 'event source failed');
      return again(Math.min(failingMaxMs, intervalMs * 2 ** Math.min(state.failures, 8)));
    }
  };

  return async (attempt) => {
    const state = await findEventSource(pool, attempt.recordId);
    return state ? shares.run(state.project, attempt, () => readSource(state, attempt)) : 'done';
  };
}
