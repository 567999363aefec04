import type { z } from 'zod';
import { jqFlag, watchFlag } from './common-flags.ts';
import type { Context } from './context.ts';
import { fieldsFlag } from './data-fields.ts';
import type { FlagSet, FlagValues } from './flags.ts';

/** `'app'` is a required argument, `'revision?'` an optional one; `'...names'` takes one or more values. */
export type ArgValues<Names extends readonly string[]> = {
  readonly [
    Name in Names[number] as Name extends `...${infer Rest}`
      ? Rest
      : Name extends `${infer Optional}?`
        ? Optional
        : Name
  ]: Name extends `...${string}` ? readonly string[] : Name extends `${string}?` ? string | undefined : string;
};

/** One command of the command line. */
export interface Command {
  name: string;
  /** The arguments, in the notation of {@link ArgValues}. */
  args: readonly string[];
  /** The name of the words after `--`, which are passed on unchanged, in `words`; absent: the command takes none. */
  words?: string;
  wordsAreOptional?: boolean;
  description: string;
  flags: FlagSet;
  /** The schema of the object that the command prints, or of each object of its list: the fields of `--json`. */
  data?: z.ZodType | undefined;
  /** Whole command lines, without the leading `$`. */
  examples: readonly string[];
  /** Left out of help and documentation. */
  hidden?: boolean;
  /** Options of other tools, such as `--env`, each with the command that does the same here. */
  suggestions?: Readonly<Record<string, string>>;
  /** The command for an argument that this one does not take; it is given the argument. */
  forArgument?: (typed: string) => string;
  /** @returns the exit code; default 0 */
  run(input: {
    context: Context;
    args: Record<string, unknown>;
    words: readonly string[];
    flags: Record<string, unknown>;
  }): Promise<number | void>;
}

/** A command whose module is loaded on use. */
export interface LazyCommand {
  name: string;
  load: () => Promise<Command>;
}

/** The content of a group. */
export interface Commands {
  commands: readonly (Command | LazyCommand)[];
  groups?: readonly (Group | LazyGroup)[];
  /** Commands of other tools, such as `logs`, each with the command that does the same here. */
  suggestions?: Readonly<Record<string, string>>;
}

/** Commands that share their first words, such as `svc app git`. */
export interface Group extends Commands {
  name: string;
  description: string;
  commands: readonly Command[];
}

/** A group whose commands are loaded on use. `groups` are those that are found without its commands. */
export interface LazyGroup extends Pick<Group, 'name' | 'description' | 'groups'> {
  load: () => Promise<Commands>;
}

/** The group with a name in a group, which is opened if the name is not one of those that are known without it. */
export async function findGroup(
  group: Group | LazyGroup,
  name: string | undefined,
): Promise<Group | LazyGroup | undefined> {
  const isNamed = (child: Group | LazyGroup) => child.name === name;
  return group.groups?.find(isNamed) ?? (await openGroup(group)).groups?.find(isNamed);
}

/** The content of a group, without the modules of its lazy commands. */
export async function openGroup(group: Group | LazyGroup): Promise<Commands> {
  return 'load' in group ? group.load() : group;
}

/** The group with all its commands. */
export async function loadGroup(group: Group | LazyGroup): Promise<Group> {
  const content = await openGroup(group);
  return { ...group, ...content, commands: await Promise.all(content.commands.map(loadCommand)) };
}

export async function loadCommand(entry: Command | LazyCommand): Promise<Command> {
  return 'load' in entry ? entry.load() : entry;
}

/**
 * Declares a command, and infers the types of the arguments and flags of `run`. A command that prints data also gets the
 * options that select and repeat its output, which {@link runProgram} applies.
 */
export function command<const Names extends readonly string[], Flags extends FlagSet>(definition: {
  name: string;
  args?: Names;
  words?: string;
  wordsAreOptional?: boolean;
  description: string;
  flags: Flags;
  /** The schema of the object that the command prints, or of each object of its list: the fields of `--json`. */
  data?: z.ZodType;
  /** Whether the command only reads, so that `--watch` can repeat it. */
  watch?: boolean;
  examples: readonly string[];
  hidden?: boolean;
  suggestions?: Readonly<Record<string, string>>;
  forArgument?: (typed: string) => string;
  run(input: {
    context: Context;
    args: ArgValues<Names>;
    words: readonly string[];
    flags: FlagValues<Flags>;
  }): Promise<number | void>;
}): Command {
  const { watch, ...rest } = definition;
  const { data } = rest;
  const flags = {
    ...definition.flags,
    ...(data && { json: fieldsFlag(data) }),
    ...('output' in definition.flags && { jq: jqFlag }),
    ...(watch && { watch: watchFlag }),
  };
  return { ...rest, args: definition.args ?? [], flags };
}
