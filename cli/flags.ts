import { usageFailure } from './failure.ts';

/** What was typed for one flag: the values in their order, or whether a switch is on. Undefined: nothing. */
export type Given = readonly string[] | boolean | undefined;

/** One option of a command. The long name comes from its key: `codeFile` is `--code-file`. */
export interface Flag<Value> {
  /** Absent: a switch. */
  placeholder?: string;
  description: string;
  short?: string;
  /** A switch that is on unless `--no-<name>` is given. */
  negated?: boolean;
  /** Of a negated one: `--<name>` may be given, too. */
  either?: boolean;
  /** Left out of the help. */
  hidden?: boolean;
  /** @throws Failure (usage); `name` is how the flag was typed */
  read(given: Given, name: string): Value;
}

export type FlagSet = Readonly<Record<string, Flag<unknown>>>;
export type FlagValues<Flags extends FlagSet> = {
  readonly [Key in keyof Flags]: Flags[Key] extends Flag<infer Value> ? Value : never;
};

/** `codeFile` → `--code-file`; a negated `wait` → `--no-wait`. */
export function flagName(key: string, flag?: Pick<Flag<unknown>, 'negated'>): string {
  return `--${flag?.negated ? 'no-' : ''}${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function single(given: Given, name: string): string | undefined {
  const value = onlyOne(given, name);
  // In a script it is mostly a variable that is not set.
  if (value === '') throw usageFailure(`${name} needs a value, and this one is empty.`);
  return value;
}

function onlyOne(given: Given, name: string): string | undefined {
  if (given === undefined || typeof given === 'boolean') return undefined;
  if (given.length > 1) throw usageFailure(`${name} is given ${given.length} times; it takes one value.`);
  return given[0];
}

interface Options {
  short?: string;
  hidden?: boolean;
}

/** A flag with one value. */
export function text(placeholder: string, description: string, options: Options = {}): Flag<string | undefined> {
  return { placeholder, description, ...options, read: single };
}

/** A flag with one value, which may be empty to take away what there was. */
export function textOrNone(placeholder: string, description: string): Flag<string | undefined> {
  return { placeholder, description, read: onlyOne };
}

/** A flag that must be given, with one value. */
export function requiredText(placeholder: string, description: string): Flag<string> {
  return {
    placeholder,
    description: `${description} (required)`,
    read: (given, name) => {
      const value = single(given, name);
      if (value === undefined) throw usageFailure(`${name} ${placeholder} is required.`);
      return value;
    },
  };
}

/** A flag that may be given several times, and be empty, as a word of a command line may. */
export function textsOrEmpty(placeholder: string, description: string): Flag<readonly string[]> {
  return {
    placeholder,
    description: `${description}; may be given several times`,
    read: (given) => (given === undefined || typeof given === 'boolean' ? [] : given),
  };
}

/** A flag that may be given several times. */
export function texts(placeholder: string, description: string): Flag<readonly string[]> {
  const flag = textsOrEmpty(placeholder, description);
  return { ...flag, read: (given, name) => flag.read(given, name).flatMap((value) => single([value], name) ?? []) };
}

/** A flag that may be given several times, each time with one of some words. */
export function choices<const Word extends string>(words: readonly Word[], description: string): Flag<readonly Word[]> {
  const one = choice(words, '');
  const flag = texts(`<${words.join('|')}>`, description);
  return {
    ...flag,
    read: (given, name) => flag.read(given, name).flatMap((value) => one.read([value], name) ?? []),
  };
}

/** A flag with one of some words. */
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
    read: (given, name) => {
      const value = single(given, name);
      const word = words.find((candidate) => candidate === value);
      if (value !== undefined && word === undefined) {
        throw usageFailure(`${name} takes one of ${words.join(', ')}; not "${value}".`);
      }
      return word;
    },
  };
}

/** A flag that must be given, with one of some words. */
export function requiredChoice<const Word extends string>(words: readonly Word[], description: string): Flag<Word> {
  const flag = choice(words, `${description} (required)`);
  return {
    ...flag,
    read: (given, name) => {
      const word = flag.read(given, name);
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
    read: (given, name) => {
      const value = single(given, name);
      if (value === undefined) return undefined;
      const number = /^\d+(\.\d+)?$/.test(value) ? Number(value) : NaN;
      const whole = range.fraction === true || Number.isInteger(number);
      if (!whole || !(number >= range.min && number <= range.max)) {
        throw usageFailure(
          `${name} takes a ${range.fraction ? '' : 'whole '}number from ${range.min} to ${range.max}; not "${value}".`,
        );
      }
      return number;
    },
  };
}

/** As {@link amount}, and it must be given. */
export function requiredAmount(
  placeholder: string,
  description: string,
  range: { min: number; max: number; fraction?: boolean },
): Flag<number> {
  const optional = amount(placeholder, `${description} (required)`, range);
  return {
    ...optional,
    read: (given, name) => {
      const value = optional.read(given, name);
      if (value === undefined) throw usageFailure(`${name} ${placeholder} is required.`);
      return value;
    },
  };
}

const hourSeconds = 3600;
const daySeconds = 86_400;
const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: hourSeconds, d: daySeconds };

/** Seconds of a duration as people write it: `90`, `90s`, `5m`, `1h`, `2d`; undefined for anything else. */
export function parseDuration(value: string): number | undefined {
  const match = /^(\d{1,9})([smhd]?)$/.exec(value);
  return match ? Number(match[1]) * (unitSeconds[match[2] || 's'] ?? 1) : undefined;
}

/** A flag with a duration, read as seconds; so is the range. */
export function duration(
  placeholder: string,
  description: string,
  { min = 1, max = Infinity }: { min?: number; max?: number } = {},
): Flag<number | undefined> {
  const from = min > 1 ? ` from ${min}s` : '';
  const most = max % daySeconds === 0 ? `${max / daySeconds}d` : `${max / hourSeconds}h`;
  const range = max === Infinity ? from : `${from} ${from ? '' : 'of up '}to ${most}`;
  return {
    placeholder,
    description,
    read: (given, name) => {
      const value = single(given, name);
      if (value === undefined) return undefined;
      const seconds = parseDuration(value);
      if (seconds !== undefined && seconds >= min && seconds <= max) return seconds;
      throw usageFailure(`${name} takes a duration${range}, such as 90s, 5m or 1h; not "${value}".`);
    },
  };
}

/** A flag that also takes the word `default`, which takes back what there was and is read as null. */
export function orDefault<Value>(flag: Flag<Value>): Flag<Value | null> {
  return { ...flag, read: (given, name) => (single(given, name) === 'default' ? null : flag.read(given, name)) };
}

/** A flag without a value: on when given. */
export function toggle(description: string, options: Options = {}): Flag<boolean> {
  return { description, ...options, read: (given) => given === true };
}

/** A switch that is on unless `--no-<name>` is given. */
export function unless(description: string): Flag<boolean> {
  return { description, negated: true, read: (given) => given !== false };
}
