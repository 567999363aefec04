import { CronExpressionParser } from 'cron-parser';
import { dayMs } from './period.ts';
import { Problem } from './problem.ts';

/** A cron expression that Kubernetes accepts. */
export interface Schedule {
  /** The form for cron-parser: with seconds, and each field `*` or a list of numbers. */
  readonly expression: string;
}

/** The default time zone of a schedule. */
export const defaultTimeZone = 'Etc/UTC';
/** How many next times of a schedule are shown. */
export const shownTimes = 5;

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const weekdayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const macros: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
]);

interface Field {
  what: string;
  min: number;
  max: number;
  names?: readonly string[];
}

const fields: readonly Field[] = [
  { what: 'minute', min: 0, max: 59 },
  { what: 'hour', min: 0, max: 23 },
  { what: 'day of the month', min: 1, max: 31 },
  { what: 'month', min: 1, max: 12, names: monthNames },
  { what: 'day of the week', min: 0, max: 6, names: weekdayNames },
];

/** The last day of the months that have fewer than 31, in a leap year. */
const lastDays: Readonly<Record<string, number>> = { '2': 29, '4': 30, '6': 30, '9': 30, '11': 30 };

/**
 * Parses a cron expression as Kubernetes does: minute, hour, day of the month, month, day of the week (0 is Sunday), or
 * one of `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. Other syntax of cron-parser (`L`, `#`, `H`, seconds,
 * 7 for Sunday, `@weekdays`) is refused, because Kubernetes refuses it or reads it differently; so is `@every`,
 * whose times depend on its start, and `TZ=`, because a job has its own time zone.
 * https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#schedule-syntax
 * @throws Problem `invalid_value` that names the invalid part
 */
export function parseSchedule(expression: string): Schedule {
  const parts = scheduleFields(expression);
  if (parts.length !== fields.length) {
    throw refusal(expression, 'use five fields, such as "0 2 * * *" for every day at 02:00');
  }
  const values = fields.map((field, index) => {
    try {
      return readField(parts[index] ?? '', field);
    } catch (error) {
      throw refusal(expression, error instanceof Error ? error.message : String(error));
    }
  });
  const [, , days = '*', months = '*', weekdays = '*'] = values;
  if (!everComes(days, months, weekdays)) throw refusal(expression, 'that day does not exist in any month');
  return { expression: ['0', ...values].join(' ') };
}

/** The fields of an expression, also of one such as `@daily`. */
export function scheduleFields(expression: string): string[] {
  const text = expression.trim();
  return (macros.get(text) ?? text).split(/\s+/);
}

/** Whether the day ever occurs. cron-parser would search for an impossible day for almost a second. */
function everComes(days: string, months: string, weekdays: string): boolean {
  if (days === '*' || months === '*' || weekdays !== '*') return true;
  const first = Number(days.split(',')[0]);
  return months.split(',').some((month) => first <= (lastDays[month] ?? first));
}

function refusal(expression: string, why: string): Problem {
  return new Problem('invalid_value', `"${expression}" is not a valid schedule: ${why}.`, {
    details: { field: 'schedule' },
  });
}

/**
 * A field's values for cron-parser. If both day fields are restricted, a day must match either of them. Only a field with
 * `*` or `?` is unrestricted: a step of one keeps it so, a range over all values does not.
 */
function readField(text: string, field: Field): string {
  const values = new Set<number>();
  let open = false;
  for (const range of text.split(',')) {
    const match = /^([*?]|\w+)(?:-(\w+))?(?:\/(\d{1,3}))?$/.exec(range);
    const step = Number(match?.[3] ?? 1);
    if (!match?.[1] || step === 0) throw new Error(`"${range}" is not a valid ${field.what}`);
    const isWildcard = match[1] === '*' || match[1] === '?';
    if (isWildcard && match[2] !== undefined) throw new Error(`"${range}" is not a valid ${field.what}`);
    open ||= isWildcard && step === 1;
    const low = isWildcard ? field.min : valueOf(match[1], field);
    const single = match[3] === undefined ? low : field.max;
    const high = isWildcard ? field.max : match[2] === undefined ? single : valueOf(match[2], field);
    if (low > high) throw new Error(`the ${field.what} range "${range}" ends before it starts`);
    for (let value = low; value <= high; value += step) values.add(value);
  }
  return open ? '*' : [...values].sort((a, b) => a - b).join(',');
}

function valueOf(text: string, { what, min, max, names }: Field): number {
  const position = names?.indexOf(text.toLowerCase()) ?? -1;
  const value = position >= 0 ? position + min : /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) {
    throw new Error(
      `a ${what} is a number from ${min} to ${max}${what === 'day of the week' ? ' (0 is Sunday)' : ''}, not "${text}"`,
    );
  }
  return value;
}

/** Checks an IANA time zone. @throws Problem `invalid_value` */
export function checkTimeZone(timeZone: string, field = 'timeZone'): string {
  try {
    // Kubernetes accepts no offsets such as +02:00, and "Local" depends on the machine.
    if (!/^[A-Za-z]/.test(timeZone)) throw new RangeError('no name');
    return clockOf(timeZone) && timeZone;
  } catch {
    throw new Problem('invalid_value', `"${timeZone}" is not a time zone; use an IANA name, such as Europe/Berlin.`, {
      details: { field },
    });
  }
}

/**
 * The next times of a schedule after `after`, as Kubernetes creates runs: a local time that a clock change skips is
 * omitted, and one that occurs twice counts twice. (If the change is at midnight, as in Beirut, Kubernetes may be wrong
 * for that day; this is not.)
 *
 * cron-parser iterates over local times as if they were UTC, and this function converts them to the zone: its own
 * handling of clock changes moves a skipped time to the next hour and omits the second of two.
 */
export function nextTimes(schedule: Schedule, timeZone: string, after: Date, count: number): Date[] {
  const local = clockOf(timeZone);
  const now = after.getTime();
  // What the clock showed before, it shows again when it is set back.
  const setBack = Math.max(0, offsetAt(now - dayMs, local) - offsetAt(now + dayMs, local));
  const from = local(now) - setBack;
  const walls = CronExpressionParser.parse(schedule.expression, {
    tz: 'UTC',
    // The first time is a later one than this.
    currentDate: new Date(from),
  });
  const times: number[] = [];
  for (;;) {
    const instants = instantsOf(walls.next().getTime(), local);
    const [first = -Infinity] = instants;
    const last = times[count - 1];
    if (last !== undefined && first > last) break;
    times.push(...instants.filter((instant) => instant > now));
    times.sort((a, b) => a - b);
  }
  return times.slice(0, count).map((time) => new Date(time));
}

/** As {@link nextTimes} for a schedule that may have been set with kubectl: none if it is not valid here. */
export function upcomingTimes(expression: string, timeZone: string, after: Date, count: number): Date[] {
  try {
    return nextTimes(parseSchedule(expression), timeZone, after, count);
  } catch {
    return [];
  }
}

type LocalClock = (instant: number) => number;

/** Cached, because creating a formatter is slow; there are a few hundred zones. */
const clocks = new Map<string, LocalClock>();

/** The local time of a zone at an instant, both in ms. @throws RangeError for an unknown zone */
function clockOf(timeZone: string): LocalClock {
  const clock = clocks.get(timeZone) ?? createClock(timeZone);
  clocks.set(timeZone, clock);
  return clock;
}

function createClock(timeZone: string): LocalClock {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    ...({ year: 'numeric', month: 'numeric', day: 'numeric' } as const),
    ...({ hour: 'numeric', minute: 'numeric', second: 'numeric' } as const),
  });
  return (instant) => {
    const parts = Object.fromEntries(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second);
  };
}

/** The offset of a zone from UTC at an instant, in ms. */
function offsetAt(instant: number, local: LocalClock): number {
  return local(instant) - instant;
}

/** The instants of a local time, in order: none, one or two. */
function instantsOf(wall: number, local: LocalClock): number[] {
  // With the offset on either side of a change of clocks.
  const candidates = [dayMs, -dayMs].map((shift) => wall - offsetAt(wall + shift, local));
  return [...new Set(candidates)].filter((instant) => local(instant) === wall).sort((a, b) => a - b);
}
