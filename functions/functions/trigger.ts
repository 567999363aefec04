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

type Trigger = Pick<FunctionSpec, 'trigger' | 'events'>;

/**
 * The trigger and events of a new or changed function. A new trigger replaces the trigger and the events, unless the change
 * contains events too. Without a new trigger, both stay, and the change's event fields replace only those fields.
 * @throws Problem `invalid_value` for events without a valid source, or with the trigger cron
 */
export function triggerOf(change: Pick<FunctionUpdate, 'trigger' | 'events'>, current?: Trigger): Trigger {
  const { events } = change;
  const triggerType = typeOf(change.trigger);
  const type = events?.type ?? triggerType ?? current?.events?.type;
  if (triggerType !== undefined && type !== triggerType) {
    throw invalid(
      'events.type',
      `The trigger is ${triggerType}, but the events have the type ${type}; a function has one event source.`,
    );
  }
  const trigger = change.trigger ?? (current && !typeOf(current.trigger) ? current.trigger : (type ?? 'http'));
  const currentEvents = change.trigger === undefined ? current?.events : undefined;
  if (!events && triggerType === undefined && !currentEvents) return { trigger };
  if (trigger === 'cron') {
    throw invalid('events', 'A function with the trigger cron cannot have an event source.');
  }
  if (type === undefined) {
    throw invalid(
      'events.type',
      `Set the type of the event source: --trigger ${eventTypes.join('|')} ("events.type").`,
    );
  }
  return { trigger, events: eventsOf(type, events, current?.events) };
}

/** The type of event source that a trigger names. Pure. */
function typeOf(trigger: string | undefined): EventType | undefined {
  return eventTypes.find((type) => type === trigger);
}

/** @throws Problem `invalid_value` */
function eventsOf(type: EventType, change: FunctionUpdate['events'], current: FunctionEvents | undefined) {
  const { database: _, ...fields } = change ?? {};
  const merged = Object.entries({ ...(current?.type === type && current), ...fields });
  const present = merged.filter(([, value]) => value !== undefined && value !== null);
  const events = { ...(Object.fromEntries(present) as Partial<FunctionEvents>), type };
  const fault = eventsFault(events);
  if (fault) throw invalid(`events.${fault.field}`, fault.message);
  return functionEvents.parse(events);
}

function invalid(field: string, message: string): Problem {
  return new Problem('invalid_value', message, { details: { field } });
}
