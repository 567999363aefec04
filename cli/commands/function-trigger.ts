import type { FunctionView } from '../../runtime/contracts/api/functions.ts';
import { eventsFault, typesWith } from '../../runtime/contracts/resources/event-fields.ts';
import { eventTypes, functionTriggers, type EventType } from '../../runtime/contracts/resources/function.ts';
import { runOverlaps } from '../../runtime/contracts/resources/run.ts';
import { usageFailure } from '../failure.ts';
import { amount, choice, choices, flagName, text, toggle, type FlagValues } from '../flags.ts';
import type { Field } from '../output.ts';
import { notBoth } from '../pod-settings.ts';

const withRows = `with --trigger ${typesWith('query').join('|')}`;

/** What calls a function. */
export const triggerFlags = {
  trigger: choices(functionTriggers, 'what calls it (default http); http and one data source may be given together'),
  schedule: text('<cron>', 'with --trigger cron: expression of five fields, such as "*/5 * * * *"'),
  timeZone: text('<zone>', 'with --trigger cron: time zone of the schedule (default Etc/UTC)'),
  overlap: choice(runOverlaps, 'with --trigger cron: runs while the one before goes on (default Forbid)'),
  source: text('<service>', 'of a data source: service of its type; the function is bound to it'),
  database: text('<name>', 'of a data source that it is not bound to yet: database (default one of its own)'),
  query: text('<sql>', `${withRows}: its rows are the events, each known by its column id`),
  markDone: text('<sql>', `${withRows}: what marks a row as done, with {{id}} for its id`),
  list: text('<list>', 'with --trigger redis: its items are the events'),
  bucket: text('<bucket>', 'with --trigger minio: what is put into it and removed are the events'),
  eventConcurrency: amount('<n>', 'events that one pod gets at once (default 1, in order)', { min: 1, max: 100 }),
};

/** Of `update` alone. */
export const triggerRemovalFlags = { withoutMarkDone: toggle('mark rows as done no more') };

/** Of what takes a data source away. */
export const discardFlags = {
  discardEvents: toggle('lose events that were not delivered and that their source does not bring again'),
};

type TriggerFlags = FlagValues<typeof triggerFlags> & Partial<FlagValues<typeof triggerRemovalFlags>>;

const ofRequests = ['hostname', 'concurrency'];
const ofServing = ['port', 'idleTimeout', 'requestTimeout', 'minReplicas', 'maxReplicas'];
const ofSchedules = ['schedule', 'timeZone', 'overlap'];
const ofEvents = ['source', 'database', 'query', 'markDone', 'list', 'bucket', 'eventConcurrency'];

const isEventType = (trigger: string): trigger is EventType => eventTypes.some((type) => type === trigger);

/** The data source that triggers name. @throws Failure (usage) for triggers that no function has together */
function typeOf(triggers: readonly string[]): EventType | undefined {
  const [type, other] = [...new Set(triggers)].filter(isEventType);
  if (type !== undefined && other !== undefined) {
    throw usageFailure(
      `A function has one data source: --trigger ${type} or --trigger ${other}, each perhaps with http.`,
    );
  }
  const [beside] = triggers.filter((trigger) => trigger !== 'cron');
  if (triggers.includes('cron') && beside !== undefined) {
    throw usageFailure(`--trigger cron goes alone, not with --trigger ${beside}.`);
  }
  return type;
}

/** @throws Failure (usage) for a flag that a new function's triggers have no use for, or one that they need */
export function checkNewTrigger(flags: TriggerFlags & Readonly<Record<string, unknown>>): void {
  const triggers = flags.trigger.length === 0 ? ['http'] : flags.trigger;
  const type = typeOf(triggers);
  if (triggers.includes('cron') && flags.schedule === undefined) {
    throw usageFailure('--trigger cron needs --schedule <cron>, such as --schedule "*/5 * * * *".');
  }
  const stray = (keys: readonly string[]) => keys.find((key) => flags[key] !== undefined);
  const refuse = (key: string | undefined, trigger: string) => {
    if (key !== undefined) throw usageFailure(`${flagName(key)} goes with --trigger ${trigger}.`);
  };
  if (!triggers.includes('http')) refuse(stray(ofRequests), 'http');
  if (!triggers.includes('http') && type === undefined) refuse(stray(ofServing), 'http');
  if (!triggers.includes('cron')) refuse(stray(ofSchedules), 'cron');
  if (type === undefined) {
    const key = stray(ofEvents);
    const types =
      key === 'query' || key === 'markDone' || key === 'list' || key === 'bucket' ? typesWith(key) : eventTypes;
    refuse(key, types.join(' or '));
    return;
  }
  const { source, query, markDone, list, bucket } = flags;
  const fault = eventsFault({ type, ...defined({ source, query, markDone, list, bucket }) });
  if (fault) throw usageFailure(fault.message);
}

/** What the flags say of what calls a function, as the API takes it. @throws Failure (usage) */
export function triggerOf(flags: TriggerFlags): Record<string, unknown> {
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
  notBoth('mark-done', markDone !== undefined, withoutMarkDone);
  const given = {
    type,
    source,
    database,
    query,
    markDone: withoutMarkDone ? null : markDone,
    list,
    bucket,
    concurrency,
  };
  const events = defined(given);
  const other = triggers.find((trigger) => !isEventType(trigger));
  return {
    ...(triggers.length > 0 && { trigger: other ?? type }),
    ...defined({ schedule, timeZone, overlap }),
    ...(Object.keys(events).length > 0 && { events }),
  };
}

function defined<Value extends object>(value: Value) {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as {
    [Key in keyof Value]?: Exclude<Value[Key], undefined>;
  };
}

/** What calls a function, in few words. */
export function triggerText({ trigger, events }: Pick<FunctionView, 'trigger' | 'events'>): string {
  return events && events.type !== trigger ? `${trigger}, ${events.type}` : trigger;
}

/** A function's data source and how far it is. */
export function eventFields({ name, events }: FunctionView): Field[] {
  if (!events) return [];
  const { counts, more, error } = events;
  const waiting = counts && `${counts.waiting}${more ? ' and more in the source' : ''}`;
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
