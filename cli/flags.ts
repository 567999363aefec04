import { usageFailure } from './failure.ts';

/** A flag on the command line: its values in order, or whether a switch is on; undefined when it is absent. */
export type RawValue = readonly string[] | boolean | undefined;

/** One option of a command. The long name comes from its key: `codeFile` is `--code-file`. */
export interface Flag<Value> {
  /** Absent for a switch; in brackets (`[fields]`) when the value can be left out, which is read as an empty one. */
  placeholder?: string;
  description: string;
  short?: string;
  /** A switch that is on unless `--no-<name>` is given. */
  negated?: boolean;
  /** Whether a negated switch also accepts `--<name>`. */
  either?: boolean;
  /** Left out of the help. */
  hidden?: boolean;
  /** Whether a value may read like another flag of the command, such as `-e`, which one word of a command line may. */
  anyWord?: boolean;
  /** @param name the flag as typed @throws Failure (usage) */
  read(raw: RawValue, name: string): Value;
}

export type FlagSet = Readonly<Record<string, Flag<unknown>>>;
export type FlagValues<Flags extends FlagSet> = {
  readonly [Key in keyof Flags]: Flags[Key] extends Flag<infer Value> ? Value : never;
};

/** The same flags without defaults, for a command that changes only the settings that its flags name. */
export function withoutDefaults<Flags extends FlagSet>(flags: Flags): Flags {
  const entries = Object.entries(flags).map(([key, flag]) => {
    const description = flag.description.replace(/ \(default[^)]*\)$/, '').replace(/; default[^)]*\)$/, ')');
    return [key, { ...flag, description }];
  });
  return Object.fromEntries(entries) as Flags;
}

/** `codeFile` → `--code-file`; a negated `wait` → `--no-wait`. */
export function flagName(key: string, flag?: Pick<Flag<unknown>, 'negated'>): string {
  return `--${flag?.negated ? 'no-' : ''}${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function single(raw: RawValue, name: string): string | undefined {
  const value = onlyOne(raw, name);
  // In a script, an empty value usually comes from an unset variable.
  if (value === '') throw usageFailure(`${name} needs a value, but the value is empty.`);
  return value;
}

function onlyOne(raw: RawValue, name: string): string | undefined {
  if (raw === undefined || typeof raw === 'boolean') return undefined;
  if (raw.length > 1) throw usageFailure(`${name} is given ${raw.length} times, but takes one value.`);
  return raw[0];
}

interface Options {
  short?: string;
  hidden?: boolean;
}

/** A flag with one value. */
export function text(placeholder: string, description: string, options: Options = {}): Flag<string | undefined> {
  return { placeholder, description, ...options, read: single };
}

/** A flag with one value, which may be empty to clear a setting. */
export function textOrNone(placeholder: string, description: string): Flag<string | undefined> {
  return { placeholder, description, read: onlyOne };
}

/** A flag with an image reference. */
export function imageReference(description: string): Flag<string | undefined> {
  return text('<image>', description);
}

/** A required flag with one value. */
export function requiredText(placeholder: string, description: string, options: Options = {}): Flag<string> {
  return {
    placeholder,
    description: `${description} (required)`,
    ...options,
    read: (raw, name) => {
      const value = single(raw, name);
      if (value === undefined) throw usageFailure(`${name} ${placeholder} is required.`);
      return value;
    },
  };
}

function repeatable(description: string): string {
  return description.endsWith(')')
    ? description.replace(/\(([^(]*)\)$/, '(repeatable; $1)')
    : `${description} (repeatable)`;
}

/** A repeatable flag; its values may be empty. */
export function textsOrEmpty(placeholder: string, description: string): Flag<readonly string[]> {
  return {
    placeholder,
    description: repeatable(description),
    read: (raw) => (raw === undefined || typeof raw === 'boolean' ? [] : raw),
  };
}

/** A repeatable flag. */
export function texts(placeholder: string, description: string): Flag<readonly string[]> {
  const flag = textsOrEmpty(placeholder, description);
  return { ...flag, read: (raw, name) => flag.read(raw, name).flatMap((value) => single([value], name) ?? []) };
}

/** A repeatable flag that takes one of several words. */
export function choices<const Word extends string>(words: readonly Word[], description: string): Flag<readonly Word[]> {
  const single = choice(words, '');
  const flag = texts(`<${words.join('|')}>`, description);
  return { ...flag, read: (raw, name) => flag.read(raw, name).flatMap((value) => single.read([value], name) ?? []) };
}

/** A flag that takes one of several words. */
export function choice<const Word extends string>(
  words: readonly Word[],
  description: string,
  options: Options = {},
): Flag<Word | undefined> {
  const placeholder = `<${words.join('|')}>`;
  return {
    placeholder,
    description,
    ...options,
    read: (raw, name) => {
      const value = single(raw, name);
      const word = words.find((candidate) => candidate === value);
      if (value !== undefined && word === undefined) {
        throw usageFailure(`${name} must be one of ${words.join(', ')}, not "${value}".`);
      }
      return word;
    },
  };
}

/** A required flag that takes one of several words. */
export function requiredChoice<const Word extends string>(words: readonly Word[], description: string): Flag<Word> {
  const flag = choice(words, `${description} (required)`);
  return {
    ...flag,
    read: (raw, name) => {
      const word = flag.read(raw, name);
      if (word === undefined) throw usageFailure(`${name} ${flag.placeholder} is required.`);
      return word;
    },
  };
}

/** A flag with a number, whole unless `fraction` is set. */
export function amount(
  placeholder: string,
  description: string,
  range: { min: number; max: number; fraction?: boolean },
): Flag<number | undefined> {
  return {
    placeholder,
    description,
    read: (raw, name) => {
      const value = single(raw, name);
      if (value === undefined) return undefined;
      const number = /^\d+(\.\d+)?$/.test(value) ? Number(value) : NaN;
      const whole = range.fraction === true || Number.isInteger(number);
      if (!whole || !(number >= range.min && number <= range.max)) {
        throw usageFailure(
          `${name} must be a ${range.fraction ? '' : 'whole '}number from ${range.min} to ${range.max}, not "${value}".`,
        );
      }
      return number;
    },
  };
}

/** A required {@link amount}. */
export function requiredAmount(
  placeholder: string,
  description: string,
  range: { min: number; max: number; fraction?: boolean },
): Flag<number> {
  const optional = amount(placeholder, `${description} (required)`, range);
  return {
    ...optional,
    read: (raw, name) => {
      const value = optional.read(raw, name);
      if (value === undefined) throw usageFailure(`${name} ${placeholder} is required.`);
      return value;
    },
  };
}

const hourSeconds = 3600;
const daySeconds = 86_400;
const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: hourSeconds, d: daySeconds };

/** The seconds of a duration such as `90`, `90s`, `5m`, `1h` or `2d`; undefined for anything else. */
export function parseDuration(value: string): number | undefined {
  const match = /^(\d{1,9})([smhd]?)$/.exec(value);
  return match ? Number(match[1]) * (unitSeconds[match[2] || 's'] ?? 1) : undefined;
}

/** A flag with a duration, read as seconds. `min` and `max` are seconds. */
export function duration(
  placeholder: string,
  description: string,
  { min = 1, max = Infinity }: { min?: number; max?: number } = {},
): Flag<number | undefined> {
  const lower = min > 1 ? ` from ${min}s` : '';
  const limit = max % daySeconds === 0 ? `${max / daySeconds}d` : `${max / hourSeconds}h`;
  const range = max === Infinity ? lower : `${lower} ${lower ? '' : 'of up '}to ${limit}`;
  return {
    placeholder,
    description,
    read: (raw, name) => {
      const value = single(raw, name);
      if (value === undefined) return undefined;
      const seconds = parseDuration(value);
      if (seconds !== undefined && seconds >= min && seconds <= max) return seconds;
      throw usageFailure(`${name} must be a duration${range}, such as 90s, 5m or 1h, not "${value}".`);
    },
  };
}

/** A flag that also takes the word `default`, which resets the setting and is read as null. */
export function orDefault<Value>(flag: Flag<Value>): Flag<Value | null> {
  return { ...flag, read: (raw, name) => (single(raw, name) === 'default' ? null : flag.read(raw, name)) };
}

/** A switch that is off by default. */
export function toggle(description: string, options: Options = {}): Flag<boolean> {
  return { description, ...options, read: (raw) => raw === true };
}

/** A switch that is on unless `--no-<name>` is given. */
export function negated(description: string): Flag<boolean> {
  return { description, negated: true, read: (raw) => raw !== false };
}
