import { Problem } from './problem.ts';

/** The times of a cron expression, as sets of numbers. */
export interface Schedule {
  minutes: ReadonlySet<number>;
  hours: ReadonlySet<number>;
  days: ReadonlySet<number>;
  months: ReadonlySet<number>;
  weekdays: ReadonlySet<number>;
  /** Whether a day must be in `days` and in `weekdays`; with both restricted, either is enough. */
  bothDays: boolean;
}

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const weekdayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const macros: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

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

const dayMs = 86_400_000;
const minuteMs = 60_000;
/** 29 February comes back after eight years at most. */
const horizonDays = 366 * 9;

/**
 * Reads a cron expression as Kubernetes does: minute, hour, day of the month, month, day of the week (0 is Sunday), or
 * one of `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`.
 * https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#schedule-syntax
 * @throws Problem `invalid_value` that says which part is wrong
 */
export function parseSchedule(expression: string): Schedule {
  const parts = (macros[expression.trim()] ?? expression.trim()).split(/\s+/);
  if (parts.length !== fields.length) {
    throw refusal(expression, 'it has five fields, such as "0 2 * * *" for every day at 02:00');
  }
  const [minutes, hours, days, months, weekdays] = fields.map((field, index) => {
    try {
      return readField(parts[index] ?? '', field);
    } catch (error) {
      throw refusal(expression, error instanceof Error ? error.message : String(error));
    }
  });
  if (!minutes || !hours || !days || !months || !weekdays) throw refusal(expression, 'it has five fields');
  const open = [parts[2], parts[4]].some((part) => part?.split(',').some((range) => /^[*?](\/1)?$/.test(range)));
  const schedule = { minutes, hours, days, months, weekdays, bothDays: open };
  if (nextTimes(schedule, 'Etc/UTC', new Date(0), 1).length === 0) throw refusal(expression, 'that day never comes');
  return schedule;
}

function refusal(expression: string, why: string): Problem {
  return new Problem('invalid_value', `"${expression}" is not a usable schedule: ${why}.`, {
    details: { field: 'schedule' },
  });
}

function readField(text: string, field: Field): Set<number> {
  const values = new Set<number>();
  for (const range of text.split(',')) {
    const match = /^([*?]|\w+)(?:-(\w+))?(?:\/(\d{1,3}))?$/.exec(range);
    const step = Number(match?.[3] ?? 1);
    if (!match?.[1] || step === 0) throw new Error(`"${range}" is no ${field.what}`);
    const whole = match[1] === '*' || match[1] === '?';
    if (whole && match[2] !== undefined) throw new Error(`"${range}" is no ${field.what}`);
    const low = whole ? field.min : valueOf(match[1], field);
    const alone = match[3] === undefined ? low : field.max;
    const high = whole ? field.max : match[2] === undefined ? alone : valueOf(match[2], field);
    if (low > high) throw new Error(`the ${field.what} range "${range}" ends before it begins`);
    for (let value = low; value <= high; value += step) values.add(value);
  }
  return values;
}

function valueOf(text: string, { what, min, max, names }: Field): number {
  const named = names?.indexOf(text.toLowerCase()) ?? -1;
  const value = named >= 0 ? named + min : /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
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
    // An offset such as +02:00 is none for Kubernetes, and "Local" depends on the machine.
    if (!/^[A-Za-z]/.test(timeZone)) throw new RangeError('no name');
    return clockOf(timeZone) && timeZone;
  } catch {
    throw new Problem('invalid_value', `"${timeZone}" is no time zone; give its IANA name, such as Europe/Berlin.`, {
      details: { field },
    });
  }
}

/**
 * The next times of a schedule after a moment. A local time that a clock change skips is left out, and one that comes
 * twice counts once.
 */
export function nextTimes(schedule: Schedule, timeZone: string, after: Date, count: number): Date[] {
  const local = clockOf(timeZone);
  const times: Date[] = [];
  const hours = [...schedule.hours].sort((a, b) => a - b);
  const minutes = [...schedule.minutes].sort((a, b) => a - b);
  const first = Math.floor(local(after.getTime()) / dayMs);
  for (let day = first; day < first + horizonDays; day++) {
    if (!isDay(schedule, new Date(day * dayMs))) continue;
    for (const hour of hours) {
      for (const minute of minutes) {
        const at = instantOf(day * dayMs + (hour * 60 + minute) * minuteMs, local);
        if (at === undefined || at <= after.getTime()) continue;
        times.push(new Date(at));
        if (times.length === count) return times;
      }
    }
  }
  return times;
}

function isDay({ days, months, weekdays, bothDays }: Schedule, day: Date): boolean {
  if (!months.has(day.getUTCMonth() + 1)) return false;
  const inMonth = days.has(day.getUTCDate());
  const inWeek = weekdays.has(day.getUTCDay());
  return bothDays ? inMonth && inWeek : inMonth || inWeek;
}

type LocalClock = (instant: number) => number;

/** Making one costs more than everything else here; there are some hundreds of zones. */
const clocks = new Map<string, LocalClock>();

/** What the wall clock of a time zone shows at an instant, both in ms. @throws RangeError for an unknown zone */
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

/** The instant at which a local clock shows a time; undefined when it never does. */
function instantOf(wall: number, local: LocalClock): number | undefined {
  // The offset on either side of a change of clocks.
  return [dayMs, -dayMs]
    .map((shift) => wall - (local(wall + shift) - (wall + shift)))
    .sort((a, b) => a - b)
    .find((instant) => local(instant) === wall);
}
