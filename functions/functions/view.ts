import type { FunctionView } from '../../runtime/contracts/api/functions.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import {
  bindingStatus,
  functionLimits,
  type FunctionBinding,
  type FunctionBindingStatus,
  type FunctionEvents,
  type FunctionResource,
  type FunctionRun,
} from '../../runtime/contracts/resources/function.ts';
import { lastOutOfMemory } from '../../runtime/contracts/resources/out-of-memory.ts';
import { environmentLabel, projectLabel } from '../../runtime/domain/labels.ts';
import { testRunName } from '../../runtime/domain/names.ts';
import { defaultTimeZone, shownTimes, upcomingTimes } from '../../runtime/domain/schedule.ts';
import { gateOf } from '../../runtime/host/gate-routes.ts';
import type { EventCounts } from '../../runtime/records/dead-letters.ts';
import type { EventSourceState } from '../../runtime/records/function-events.ts';
import { runViews, type ShownRun } from '../../runtime/host/run-views.ts';
import { securityToView } from '../../runtime/host/security-settings.ts';
import { shownIdOf } from '../../runtime/host/workload-objects.ts';

/** How far the events of a function are; without a source, its controller has not seen it yet. */
export interface EventsState {
  counts: EventCounts;
  source: Pick<EventSourceState, 'polledAt' | 'more' | 'error'> | undefined;
}

/**
 * A function as the API shows it; never its code.
 * @param options.url fills in before the controller has reported one
 * @param options.exclusive whether it mounts a volume that only one pod at a time may have
 */
export function functionToView(
  object: Stored<FunctionResource>,
  options: {
    now: Date;
    url?: string;
    exclusive: boolean;
    pendingRestart?: boolean;
    events?: EventsState | undefined;
  },
): FunctionView {
  const { metadata, spec, status } = object;
  const url = status?.url ?? options.url;
  const killed = lastOutOfMemory(status);
  const deleting = metadata.deletionTimestamp !== undefined;
  const message = status?.message ?? (deleting ? undefined : whyUnbound(object));
  return {
    id: shownIdOf(object),
    name: metadata.name,
    project: metadata.labels?.[projectLabel] ?? '',
    environment: metadata.labels?.[environmentLabel] ?? '',
    ...(spec.runtime !== undefined && { runtime: spec.runtime }),
    ...(spec.image !== undefined && { image: spec.image }),
    ...(spec.dependencies !== undefined && { dependencies: spec.dependencies }),
    trigger: spec.trigger,
    ...(spec.events && { events: eventsToView(spec.events, options.events) }),
    status: deleting ? 'deleting' : (status?.phase ?? 'pending'),
    ...(message !== undefined && { message }),
    ...(killed && { outOfMemory: killed }),
    ...(spec.trigger === 'http' && url !== undefined && { url }),
    ...(spec.trigger === 'http' && { security: securityToView(spec.security), gate: gateOf(object) }),
    ...(spec.trigger !== 'cron' && { port: spec.port }),
    replicas: status?.replicas ?? 0,
    readyReplicas: status?.readyReplicas ?? 0,
    idleTimeoutSeconds: spec.idleTimeoutSeconds,
    ...functionLimits(spec, options.exclusive),
    ...(spec.trigger === 'cron' && scheduleOf(object, deleting ? 0 : shownTimes, options.now)),
    ...(spec.bindings && { bindings: spec.bindings.map((binding) => shortBinding(object, binding)) }),
    env: Object.fromEntries((spec.env ?? []).map(({ name, value }) => [name, value])),
    volumes: spec.volumes ?? [],
    ...(spec.memory !== undefined && { memory: spec.memory }),
    ...(spec.cpu !== undefined && { cpu: spec.cpu }),
    ...(options.pendingRestart !== undefined && { pendingRestart: options.pendingRestart }),
    updating: status?.updating === true || status?.observedGeneration !== metadata.generation,
    createdAt: metadata.creationTimestamp ?? new Date(0).toISOString(),
  };
}

/** Why a function that has not started waits for a binding; undefined where none has failed. */
function whyUnbound({ spec, status }: Stored<FunctionResource>): string | undefined {
  if ((status?.phase ?? 'pending') !== 'pending') return undefined;
  const bindings = (spec.bindings ?? []).map((binding) => bindingStatus({ ...(status && { status }) }, binding));
  const failed = bindings.find((binding) => binding?.phase === 'failed');
  return failed && `The binding to "${failed.service}" failed: ${failed.message ?? 'see its status'}`;
}

function eventsToView(
  { concurrency = 1, ...settings }: FunctionEvents,
  state: EventsState | undefined,
): FunctionView['events'] {
  const { polledAt = null, more = false, error = null } = state?.source ?? {};
  return {
    ...settings,
    concurrency,
    ...(state && { counts: state.counts, more }),
    ...(polledAt && { readAt: polledAt.toISOString() }),
    ...(error !== null && { error }),
  };
}

function scheduleOf(object: Stored<FunctionResource>, count: number, now: Date): Partial<FunctionView> {
  const { schedule = '', timeZone = defaultTimeZone, overlap = 'Forbid' } = object.spec;
  const [lastRun] = functionRuns(object);
  const nextRuns = count === 0 ? [] : upcomingTimes(schedule, timeZone, now, count);
  return {
    ...{ schedule, timeZone, overlap },
    nextRuns: nextRuns.map((time) => time.toISOString()),
    ...(lastRun && { lastRun }),
  };
}

function shortBinding(object: Stored<FunctionResource>, binding: FunctionBinding) {
  return { service: binding.service, status: bindingPhase(object, binding) };
}

/** How far a binding is, as the API says it. */
export function bindingPhase(
  object: Stored<FunctionResource>,
  binding: FunctionBinding,
): FunctionBindingStatus['phase'] | 'deleting' {
  const deleting = binding.dropDatabase === true || object.metadata.deletionTimestamp !== undefined;
  return deleting ? 'deleting' : (bindingStatus(object, binding)?.phase ?? 'pending');
}

/** The runs of a cron function, newest first. */
export function functionRuns(object: Stored<FunctionResource>): ShownRun<FunctionRun['trigger']>[] {
  return runViews(object, ({ id }) => ({ name: testRunName(object.metadata.name, id), trigger: 'test' }));
}
