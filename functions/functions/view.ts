import { hash } from 'node:crypto';
import type { FunctionView } from '../../runtime/contracts/api/functions.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { bindingStatus } from '../../runtime/contracts/resources/binding.ts';
import {
  functionLimits,
  type FunctionEvents,
  type FunctionResource,
  type FunctionRun,
  type FunctionSpec,
} from '../../runtime/contracts/resources/function.ts';
import { lastOutOfMemory } from '../../runtime/contracts/resources/out-of-memory.ts';
import { environmentLabel, projectLabel } from '../../runtime/domain/labels.ts';
import { testRunName } from '../../runtime/domain/names.ts';
import { describeSchedule } from '../../runtime/domain/schedule-description.ts';
import { defaultTimeZone, shownTimes, upcomingTimes } from '../../runtime/domain/schedule.ts';
import { shortBindings } from '../../runtime/api/binding-routes.ts';
import { gateOf } from '../../runtime/api/gate-routes.ts';
import type { EventCounts } from '../../runtime/records/dead-letters.ts';
import type { EventSourceState } from '../../runtime/records/function-events.ts';
import { runViews, type RunView } from '../../runtime/api/run-views.ts';
import { securityToView } from '../../runtime/api/security-settings.ts';
import { shownIdOf } from '../../runtime/workloads/objects.ts';

/** The state of a function's event source; `source` is undefined until its controller has recorded it. */
export interface EventsState {
  counts: EventCounts;
  source: Pick<EventSourceState, 'polledAt' | 'more' | 'error'> | undefined;
}

interface ViewOptions {
  now: Date;
  /** Used until the controller has reported a URL. */
  url?: string;
  /** Whether the function mounts a volume that only one pod at a time can mount. */
  exclusive: boolean;
  pendingRestart?: boolean;
  events?: EventsState | undefined;
}

/** A function as the API shows it; never its code. */
export function functionToView(object: Stored<FunctionResource>, options: ViewOptions): FunctionView {
  const { metadata, spec, status } = object;
  return {
    id: shownIdOf(object),
    name: metadata.name,
    project: metadata.labels?.[projectLabel] ?? '',
    environment: metadata.labels?.[environmentLabel] ?? '',
    ...sourceToView(spec),
    trigger: spec.trigger,
    ...(spec.events && { events: eventsToView(spec.events, options.events) }),
    ...statusToView(object),
    ...(spec.trigger === 'http' && routeToView(object, options.url)),
    ...(spec.trigger !== 'cron' && { port: spec.port }),
    replicas: status?.replicas ?? 0,
    readyReplicas: status?.readyReplicas ?? 0,
    idleTimeoutSeconds: spec.idleTimeoutSeconds,
    ...functionLimits(spec, options.exclusive),
    ...(spec.trigger === 'cron' && scheduleToView(object, options.now)),
    ...shortBindings(object),
    env: Object.fromEntries((spec.env ?? []).map(({ name, value }) => [name, value])),
    volumes: spec.volumes ?? [],
    ...(spec.memory !== undefined && { memory: spec.memory }),
    ...(spec.cpu !== undefined && { cpu: spec.cpu }),
    ...(options.pendingRestart !== undefined && { pendingRestart: options.pendingRestart }),
    updating: status?.updating === true || status?.observedGeneration !== metadata.generation,
    createdAt: metadata.creationTimestamp ?? new Date(0).toISOString(),
  };
}

function sourceToView({ runtime, code, image, dependencies }: FunctionSpec): Partial<FunctionView> {
  return {
    ...(runtime !== undefined && { runtime }),
    ...(code !== undefined && { codeDigest: hash('sha256', code) }),
    ...(image !== undefined && { image }),
    ...(dependencies !== undefined && { dependencies }),
  };
}

function statusToView(object: Stored<FunctionResource>): Pick<FunctionView, 'status' | 'message' | 'outOfMemory'> {
  const { metadata, status } = object;
  const outOfMemory = lastOutOfMemory(status);
  const deleting = metadata.deletionTimestamp !== undefined;
  const message = status?.message ?? (deleting ? undefined : failedBinding(object));
  return {
    status: deleting ? 'deleting' : (status?.phase ?? 'pending'),
    ...(message !== undefined && { message }),
    ...(outOfMemory && { outOfMemory }),
  };
}

function routeToView(object: Stored<FunctionResource>, defaultUrl: string | undefined): Partial<FunctionView> {
  const url = object.status?.url ?? defaultUrl;
  return { ...(url !== undefined && { url }), security: securityToView(object.spec.security), gate: gateOf(object) };
}

/** The failed binding that keeps a function from starting, as a message. */
function failedBinding({ spec, status }: Stored<FunctionResource>): string | undefined {
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

function scheduleToView(object: Stored<FunctionResource>, now: Date): Partial<FunctionView> {
  const { schedule = '', timeZone = defaultTimeZone, overlap = 'Forbid' } = object.spec;
  const [lastRun] = functionRuns(object);
  const deleting = object.metadata.deletionTimestamp !== undefined;
  const scheduleDescription = describeSchedule(schedule);
  const nextRuns = deleting ? [] : upcomingTimes(schedule, timeZone, now, shownTimes);
  return {
    schedule,
    ...(scheduleDescription !== undefined && { scheduleDescription }),
    timeZone,
    overlap,
    nextRuns: nextRuns.map((time) => time.toISOString()),
    ...(lastRun && { lastRun }),
  };
}

/** The runs of a cron function, newest first. */
export function functionRuns(object: Stored<FunctionResource>): RunView<FunctionRun['trigger']>[] {
  return runViews(object, ({ id }) => ({ name: testRunName(object.metadata.name, id), trigger: 'test' }));
}
