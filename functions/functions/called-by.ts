import type { FunctionUpdate } from '../../runtime/contracts/api/functions.ts';
import { eventsFault } from '../../runtime/contracts/resources/event-fields.ts';
import {
  eventTypes,
  functionEvents,
  type EventType,
  type FunctionEvents,
  type FunctionSpec,
} from '../../runtime/contracts/resources/function.ts';
import { Problem } from '../../runtime/domain/problem.ts';

type Called = Pick<FunctionSpec, 'trigger' | 'events'>;

/**
 * What calls a function after a change, or a new one. A trigger that is given is all that calls it, unless events are
 * given with it; one that is not stays, as events do, of which only what is given changes.
 * @throws Problem `invalid_value` for events that no source has, or beside a schedule
 */
export function calledBy(change: Pick<FunctionUpdate, 'trigger' | 'events'>, before?: Called): Called {
  const given = change.events;
  const only = typeOf(change.trigger);
  const type = given?.type ?? only ?? before?.events?.type;
  if (only !== undefined && type !== only) {
    throw refusal(
      'events.type',
      `The trigger is ${only}, and the events are of ${type}; a function has one data source.`,
    );
  }
  const trigger = change.trigger ?? (before && !typeOf(before.trigger) ? before.trigger : (type ?? 'http'));
  const kept = change.trigger === undefined ? before?.events : undefined;
  if (!given && only === undefined && !kept) return { trigger };
  if (trigger === 'cron') {
    throw refusal('events', 'A function with a schedule has no data source: --trigger cron goes alone.');
  }
  if (type === undefined) {
    throw refusal('events.type', `Say what events come from: --trigger ${eventTypes.join('|')} ("events.type").`);
  }
  return { trigger, events: eventsOf(type, given, before?.events) };
}

/** The kind of data source that a trigger names. Pure. */
export function typeOf(trigger: string | undefined): EventType | undefined {
  return eventTypes.find((type) => type === trigger);
}

/** @throws Problem `invalid_value` */
function eventsOf(type: EventType, given: FunctionUpdate['events'], before: FunctionEvents | undefined) {
  const { database: _, ...change } = given ?? {};
  const merged = Object.entries({ ...(before?.type === type && before), ...change });
  const present = merged.filter(([, value]) => value !== undefined && value !== null);
  const events = { ...(Object.fromEntries(present) as Partial<FunctionEvents>), type };
  const fault = eventsFault(events);
  if (fault) throw refusal(`events.${fault.field}`, fault.message);
  return functionEvents.parse(events);
}

function refusal(field: string, message: string): Problem {
  return new Problem('invalid_value', message, { details: { field } });
}
