import { namesId } from '../../domain/mark-done.ts';
import { eventTypes, type EventType, type FunctionEvents } from './function.ts';

type EventField = 'query' | 'markDone' | 'list' | 'bucket';

interface Sort {
  /** The field that it needs besides the service, with an example. */
  needs: { field: EventField; example: string };
  /** Its optional fields. */
  may: readonly EventField[];
}

const rows: Sort = {
  needs: { field: 'query', example: '"SELECT * FROM orders WHERE NOT done ORDER BY id"' },
  may: ['markDone'],
};

/** The fields of each type of event source, docs/reference/functions.md#events. */
const sorts: Readonly<Record<EventType, Sort>> = {
  postgres: rows,
  mysql: rows,
  redis: { needs: { field: 'list', example: 'jobs' }, may: [] },
  minio: { needs: { field: 'bucket', example: 'uploads' }, may: [] },
};

const flags: Readonly<Record<EventField, string>> = {
  query: '--query',
  markDone: '--mark-done',
  list: '--list',
  bucket: '--bucket',
};

/** The types of event sources that have a field. Pure. */
export function typesWith(field: EventField): EventType[] {
  return eventTypes.filter((type) => sorts[type].needs.field === field || sorts[type].may.includes(field));
}

/** Why an event source is invalid: the field, and what to do, with the flag of the command line. */
export interface EventsFault {
  field: EventField | 'source';
  message: string;
}

/** The first fault of an event source's settings; undefined if they are valid. Pure. */
export function eventsFault(events: Partial<FunctionEvents> & Pick<FunctionEvents, 'type'>): EventsFault | undefined {
  const { type, source, markDone } = events;
  const { needs, may } = sorts[type];
  for (const field of Object.keys(flags) as EventField[]) {
    if (events[field] === undefined || field === needs.field || may.includes(field)) continue;
    return { field, message: `${flags[field]} goes with --trigger ${typesWith(field).join(' or ')}, not ${type}.` };
  }
  if (source === undefined) {
    return {
      field: 'source',
      message: `--trigger ${type} needs --source <service>: the ${type} service that events come from.`,
    };
  }
  if (events[needs.field] === undefined) {
    const flag = flags[needs.field];
    return { field: needs.field, message: `--trigger ${type} needs ${flag}, such as ${flag} ${needs.example}.` };
  }
  if (markDone !== undefined && !namesId(markDone)) {
    return {
      field: 'markDone',
      message:
        '--mark-done has no {{id}} and would mark every row. Example: --mark-done "UPDATE orders SET done = true WHERE id = {{id}}".',
    };
  }
  return undefined;
}
