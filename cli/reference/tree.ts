import { loadGroup, type Command, type Group, type LazyGroup } from '../command.ts';
import { commonFlags } from '../common-flags.ts';
import { exitCodes, type ExitCode } from '../failure.ts';
import { flagName, type FlagSet } from '../flags.ts';

/** A group with everything below it. */
export interface Branch {
  /** The words of its command lines: `['svc', 'app']`. */
  path: readonly string[];
  description: string;
  commands: readonly Command[];
  branches: readonly Branch[];
}

/** Loads a group and all groups below it. */
export async function loadTree(lazy: Group | LazyGroup, parents: readonly string[] = []): Promise<Branch> {
  const group = await loadGroup(lazy);
  const path = [...parents, group.name];
  const branches: Branch[] = [];
  for (const child of group.groups ?? []) branches.push(await loadTree(child, path));
  return { path, description: group.description, commands: group.commands.filter(({ hidden }) => !hidden), branches };
}

/** A group and all groups below it, each before its own. */
export function flatten(branch: Branch): Branch[] {
  return [branch, ...branch.branches.flatMap(flatten)];
}

const shared: ReadonlySet<unknown> = new Set(Object.values(commonFlags));

/** The options that only some commands have, and the names of the common ones (`commonFlags`). */
export function splitFlags({ flags }: Command): { own: FlagSet; common: readonly string[] } {
  const isCommon = ([name, flag]: [string, unknown]) => name === 'json' || shared.has(flag);
  const entries = Object.entries(flags);
  return {
    own: Object.fromEntries(entries.filter((entry) => !isCommon(entry))),
    common: entries.filter(isCommon).map(([name]) => flagName(name)),
  };
}

/** The exit codes that a command can have. */
export function exitCodesOf({ flags }: Command): ExitCode[] {
  const has = (...names: string[]) => names.some((name) => name in flags);
  return [
    exitCodes.ok,
    exitCodes.failed,
    exitCodes.usage,
    ...(has('timeout') ? [exitCodes.timeout] : []),
    ...(has('api') ? [exitCodes.notSignedIn] : []),
    ...(has('timeout', 'watch', 'follow') ? [exitCodes.interrupted] : []),
  ];
}
