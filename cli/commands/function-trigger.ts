import type { FunctionView } from '../../runtime/contracts/api/functions.ts';
import { eventsFault, typesWith } from '../../runtime/contracts/resources/event-fields.ts';
import { eventTypes, functionTriggers, type EventType } from '../../runtime/contracts/resources/function.ts';
import { runOverlaps } from '../../runtime/contracts/resources/run.ts';
import { usageFailure } from '../failure.ts';
import { amount, choice, choices, flagName, text, toggle, type FlagValues } from '../flags.ts';
import type { Field } from '../output.ts';
import { checkExclusive } from '../pod-settings.ts';

const withRows = `with --trigger ${typesWith('query').join('|')}`;

/** The triggers of a function. */
export const triggerFlags = {
  trigger: choices(functionTriggers, 'trigger; http can be combined with one event source (default http)'),
  schedule: text('<cron>', 'with --trigger cron: five-field expression, such as "*/5 * * * *"'),
  timeZone: text('<zone>', 'with --trigger cron: time zone of the schedule (default Etc/UTC)'),
  overlap: choice(runOverlaps, 'with --trigger cron: policy for overlapping runs (default Forbid)'),
  source: text('<service>', 'event source: the service; the function is bound to it'),
  database: text('<name>', 'event source: database, if not bound yet (default: a new one)'),
  query: text('<sql>', `${withRows}: each row is an event; needs a column id`),
  markDone: text('<sql>', `${withRows}: marks the row {{id}} as done`),
  list: text('<list>', 'with --trigger redis: each item is an event'),
  bucket: text('<bucket>', 'with --trigger minio: each created or deleted object is an event'),
  eventConcurrency: amount('<n>', 'concurrent events per pod (default 1, which keeps the order)', { min: 1, max: 100 }),
};

/** For `update`: removes settings. */
export const triggerRemovalFlags = { withoutMarkDone: toggle('stop marking rows as done') };

/** For commands that remove an event source. */
export const discardFlags = { discardEvents: toggle('discard undelivered events that cannot be read again') };

/** The query of a request that may discard events. */
export const discardQuery = ({ discardEvents }: FlagValues<typeof discardFlags>) =>
  discardEvents ? { discardEvents: 'true' } : {};

type TriggerFlags = FlagValues<typeof triggerFlags> & Partial<FlagValues<typeof triggerRemovalFlags>>;

const requestFlags = ['hostname', 'concurrency', 'targetRate'];
const servingFlags = ['port', 'idleTimeout', 'requestTimeout', 'minReplicas', 'maxReplicas'];
const scheduleFlags = ['schedule', 'timeZone', 'overlap'];
const eventFlags = ['source', 'database', 'query', 'markDone', 'list', 'bucket', 'eventConcurrency'];

const isEventType = (trigger: string): trigger is EventType => eventTypes.some((type) => type === trigger);

/** The event source among the triggers. @throws Failure (usage) for triggers that cannot be combined */
function typeOf(triggers: readonly string[]): EventType | undefined {
  const [type, second] = [...new Set(triggers)].filter(isEventType);
  if (type !== undefined && second !== undefined) {
    throw usageFailure(`A function can have one event source: --trigger ${type} or --trigger ${second}.`);
  }
  const [other] = triggers.filter((trigger) => trigger !== 'cron');
  if (triggers.includes('cron') && other !== undefined) {
    throw usageFailure(`--trigger cron cannot be combined with --trigger ${other}.`);
  }
  return type;
}

/** @throws Failure (usage) for a flag that the triggers of a new function do not use, or a missing one */
export function checkNewTrigger(flags: TriggerFlags & Readonly<Record<string, unknown>>): void {
  const triggers = flags.trigger.length === 0 ? ['http'] : flags.trigger;
  const type = typeOf(triggers);
  if (triggers.includes('cron') && flags.schedule === undefined) {
    throw usageFailure('--trigger cron requires --schedule <cron>, such as --schedule "*/5 * * * *".');
  }
  const stray = (keys: readonly string[]) => keys.find((key) => flags[key] !== undefined);
  const refuse = (key: string | undefined, trigger: string) => {
    if (key !== undefined) throw usageFailure(`${flagName(key)} requires --trigger ${trigger}.`);
  };
  if (!triggers.includes('http')) refuse(stray(requestFlags), 'http');
  if (!triggers.includes('http') && type === undefined) refuse(stray(servingFlags), 'http');
  if (!triggers.includes('cron')) refuse(stray(scheduleFlags), 'cron');
  if (type === undefined) {
    const key = stray(eventFlags);
    const types =
      key === 'query' || key === 'markDone' || key === 'list' || key === 'bucket' ? typesWith(key) : eventTypes;
    refuse(key, types.join(' or '));
    return;
  }
  const { source, query, markDone, list, bucket } = flags;
  const fault = eventsFault({ type, ...defined({ source, query, markDone, list, bucket }) });
  if (fault) throw usageFailure(fault.message);
}

/** The fields of a request body for the flags. @throws Failure (usage) */
export function triggerBody(flags: TriggerFlags): Record<string, unknown> {
  const {
    trigger: triggers,
    schedule,
    timeZone,
    overlap,
    withoutMarkDone,
    eventConcurrency: concurrency,
    ...rest
  } = flags;
  const type = typeOf(triggers);
  const { source, database, query, markDone, list, bucket } = rest;
  checkExclusive('mark-done', markDone !== undefined, withoutMarkDone);
  const fields = {
    type,
    source,
    database,
    query,
    markDone: withoutMarkDone ? null : markDone,
    list,
    bucket,
    concurrency,
  };
  const events = defined(fields);
  const other = triggers.find((trigger) => !isEventType(trigger));
  return {
    ...(triggers.length > 0 && { trigger: other ?? type }),
    ...defined({ schedule, timeZone, overlap }),
    ...(Object.keys(events).length > 0 && { events }),
  };
}

function defined<Value extends object>(value: Value) {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as {
    [Key in keyof Value]?: Exclude<Value[Key], undefined>;
  };
}

/** The triggers of a function: `http, redis`. */
export function triggerText({ trigger, events }: Pick<FunctionView, 'trigger' | 'events'>): string {
  return events && events.type !== trigger ? `${trigger}, ${events.type}` : trigger;
}

/** A function's event source and its counts. */
export function eventFields({ name, events }: FunctionView): Field[] {
  if (!events) return [];
  const { counts, more, error } = events;
  const waiting = counts && `${counts.waiting}${more ? ' (more in the source)' : ''}`;
  return [
    ['Source', events.source],
    ['Query', events.query],
    ['Mark done', events.markDone],
    ['List', events.list],
    ['Bucket', events.bucket],
    [
      'Events',
      counts && `${waiting} waiting, ${counts.delivering} being delivered, ${counts.marking} to be marked as done`,
    ],
    [
      'Dead letters',
      counts && counts.dead > 0 ? `${counts.dead}; see svc function dead-letters list ${name}` : undefined,
    ],
    ['Last read', events.readAt],
    ['Source error', error],
  ];
}
