import type { Context } from './context.ts';
import type { FlagSet, FlagValues } from './flags.ts';

/** `'app'` → one word, `'revision?'` → perhaps one, `'...names'` → one and more. */
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
  /** The words after the name, in the notation of {@link ArgValues}. */
  args: readonly string[];
  description: string;
  flags: FlagSet;
  /** Whole command lines, without the leading `$`. */
  examples: readonly string[];
  run(input: { context: Context; args: Record<string, unknown>; flags: Record<string, unknown> }): Promise<void>;
}

/** What a group leads to. */
export interface Commands {
  commands: readonly Command[];
  groups?: readonly (Group | LaterGroup)[];
}

/** Commands that share their first words, such as `svc app git`. */
export interface Group extends Commands {
  name: string;
  description: string;
}

/** A group whose commands are read once somebody asks for them. */
export interface LaterGroup extends Pick<Group, 'name' | 'description'> {
  load: () => Promise<Commands>;
}

/** The group itself, with its commands. */
export async function loadGroup(group: Group | LaterGroup): Promise<Group> {
  return 'load' in group ? { ...group, ...(await group.load()) } : group;
}

/** Declares a command; only infers the types of what `run` gets. */
export function command<const Names extends readonly string[], Flags extends FlagSet>(definition: {
  name: string;
  args?: Names;
  description: string;
  flags: Flags;
  examples: readonly string[];
  run(input: { context: Context; args: ArgValues<Names>; flags: FlagValues<Flags> }): Promise<void>;
}): Command {
  return { ...definition, args: definition.args ?? [] };
}
