import { cac } from 'cac';
import type { z } from 'zod';
import {
  findGroup,
  loadCommand,
  loadGroup,
  openGroup,
  type Command,
  type Commands,
  type Group,
  type LazyGroup,
} from './command.ts';
import { usageFailure } from './failure.ts';
import { flagName, type Flag, type RawValue } from './flags.ts';
import { commandLike, optionLike } from './suggest.ts';

/** Removes {@link guard}. cac applies this to the same value several times. */
function unguarded(value: unknown): string {
  const text = String(value);
  return text.startsWith(guard) ? text.slice(guard.length) : text;
}

/** The result of parsing a command line. */
export type Parsed =
  | { action: 'help'; path: readonly string[]; subject: Group | Command }
  | { action: 'fields'; data: z.ZodType }
  | {
      action: 'run';
      path: readonly string[];
      command: Command;
      args: Record<string, unknown>;
      /** What stands after `--`. */
      words: readonly string[];
      flags: Record<string, unknown>;
    };

/** Short names of commands, in every group that has one of the commands. */
const aliases: Readonly<Record<string, readonly string[]>> = {
  ls: ['list'],
  rm: ['delete', 'remove', 'revoke'],
  show: ['status'],
  status: ['show'],
};

/** A prefix of values, without which cac would convert commits such as `0123456` and `1e5` to numbers. */
const guard = '\0';

/**
 * Parses a command line. Its first words name groups (`app gate`); cac parses the rest. `svc help app` is `svc app --help`.
 * @throws Failure (usage) for an undeclared command or flag, with a suggestion
 */
export async function parseCommandLine(root: Group | LazyGroup, argv: readonly string[]): Promise<Parsed> {
  const path = [root.name];
  let current: Group | LazyGroup = root;
  let rest = [...argv];
  for (;;) {
    // `svc app help create`
    if (rest[0] === 'help' && rest.length > 1) rest = [...rest.slice(1), '--help'];
    const next = await findGroup(current, rest[0]);
    if (!next) break;
    current = next;
    path.push(next.name);
    rest = rest.slice(1);
  }
  const [word, ...words] = rest;
  if (word === undefined || word === '--help' || word === '-h' || word === 'help') {
    return { action: 'help', path, subject: await loadGroup(current) };
  }
  const content = { ...current, ...(await openGroup(current)) };
  const command = await commandNamed(content, word);
  if (!command) throw unknownWord(path, content, word);
  const commandPath = [...path, command.name];
  const [own, passed] = splitWords(command, words);
  if (own.includes('--help') || own.includes('-h')) return { action: 'help', path: commandPath, subject: command };
  const literal = guarded(command, own);
  if (command.data && literal.includes(`--json=${guard}`)) return { action: 'fields', data: command.data };
  const parsed = read(path, command, literal);
  checkWords(commandPath, command, passed);
  return { action: 'run', path: commandPath, command, words: passed, ...parsed };
}

/** The words before `--`, and those after it if the command passes them on. */
function splitWords(command: Command, words: readonly string[]): [readonly string[], readonly string[]] {
  const end = words.indexOf('--');
  return command.words === undefined || end < 0 ? [words, []] : [words.slice(0, end), words.slice(end + 1)];
}

function checkWords(path: readonly string[], command: Command, passed: readonly string[]): void {
  if (command.words === undefined || command.wordsAreOptional || passed.length > 0) return;
  throw usageFailure(`The ${command.words} is missing.`, `usage: ${shortUsage(path, command)}`);
}

/** The form of a command line without its options, such as `svc app exec <app> -- <command>...`. */
function shortUsage(path: readonly string[], command: Command): string {
  return [path.join(' '), ...command.args.map(bracketed), ...wordsOf(command)].join(' ');
}

/** The form of the words that a command passes on, such as `-- <command>...`; empty if it passes none on. */
export function wordsOf({ words, wordsAreOptional }: Command): string[] {
  if (words === undefined) return [];
  return [wordsAreOptional ? `[-- <${words}>...]` : `-- <${words}>...`];
}

/** The command with a name or an alias. */
export async function commandNamed({ commands }: Commands, word: string): Promise<Command | undefined> {
  const names = [word, ...(Object.hasOwn(aliases, word) ? (aliases[word] ?? []) : [])];
  const entry = names
    .map((candidate) => commands.find(({ name }) => name === candidate))
    .find((command) => command !== undefined);
  return entry && loadCommand(entry);
}

function unknownWord(path: readonly string[], group: Commands, word: string): Error {
  const prefix = path.join(' ');
  if (word.startsWith('-')) return usageFailure(`Options go after the command: ${prefix} <command> ${word}`);
  const names = [...group.commands, ...(group.groups ?? [])].map(({ name }) => name);
  const close = commandLike(word, names);
  const proposal = ownText(group.suggestions, word) ?? (close === undefined ? undefined : `${prefix} ${close}`);
  return usageFailure(
    `Unknown command "${prefix} ${word}".`,
    proposal === undefined ? `see ${prefix} --help` : `did you mean ${proposal}?`,
  );
}

/** The text for a word, which may be the name of a property that every object has. */
function ownText(texts: Readonly<Record<string, string>> | undefined, word: string): string | undefined {
  return texts && Object.hasOwn(texts, word) ? texts[word] : undefined;
}

function read(path: readonly string[], command: Command, literal: readonly string[]) {
  const program = cac(path.join(' '));
  const definition = program.command(`${command.name} ${command.args.map(bracketed).join(' ')}`.trim());
  for (const [key, flag] of Object.entries(command.flags)) {
    const raw = [...(flag.short === undefined ? [] : [`-${flag.short}`]), flagName(key, flag)].join(', ');
    definition.option(flag.placeholder === undefined ? raw : `${raw} <value>`, flag.description, {
      ...(flag.placeholder !== undefined && { type: [unguarded] }),
    });
  }
  let args: Record<string, unknown> = {};
  let values: Record<string, unknown> = {};
  definition.action((...received: unknown[]) => {
    values = received.pop() as Record<string, unknown>;
    args = Object.fromEntries(command.args.map((arg, index) => [argName(arg), received[index]]));
  });
  program.parse(['', '', command.name, ...literal], { run: false });
  checkArguments(path, command, program.args);
  program.runMatchedCommand();
  const flags = Object.entries(command.flags).map(([key, flag]) => [
    key,
    flag.read(values[key] as RawValue, flagName(key, flag)),
  ]);
  return { args, flags: Object.fromEntries(flags) as Record<string, unknown> };
}

function argName(arg: string): string {
  return arg.replace('...', '').replace('?', '');
}

/** An argument in the notation of the help and cac. */
export function bracketed(arg: string): string {
  return arg.endsWith('?') ? `[${argName(arg)}]` : `<${arg}>`;
}

function checkArguments(path: readonly string[], command: Command, values: readonly string[]): void {
  const usage = shortUsage([...path, command.name], command);
  const missing = command.args.filter((arg) => !arg.endsWith('?'))[values.length];
  if (missing !== undefined) throw usageFailure(`${bracketed(missing)} is missing.`, `usage: ${usage}`);
  const extra = command.args.some((arg) => arg.startsWith('...')) ? undefined : values[command.args.length];
  if (extra === undefined) return;
  const other = command.forArgument?.(extra);
  const hint = other === undefined ? `usage: ${usage}` : `did you mean ${other}?`;
  throw usageFailure(`Unexpected argument "${extra}".`, hint);
}

/** The words in a form that cac parses literally: each flag by its key, with its value in the same word. */
function guarded(command: Command, words: readonly string[]): string[] {
  const result: string[] = [];
  const queue = words.flatMap((word) => switchesOf(command, word));
  for (let word = queue.shift(); word !== undefined; word = queue.shift()) {
    const option = readOption(command, word);
    if (!option) {
      result.push(word);
      continue;
    }
    const { typed, inline } = option;
    const [key, flag] = find(command, typed);
    if (flag.placeholder === undefined) {
      if (inline !== undefined) throw usageFailure(`${typed} takes no value.`);
      // cac rejects the positive form of a negated switch. It is the default, so it can be omitted.
      if (flag.negated && typed === flagName(key)) continue;
      result.push(flag.negated ? `--no-${key}` : `--${key}=true`);
      continue;
    }
    const optional = flag.placeholder.startsWith('[');
    const value = inline ?? (optional && !isValue(queue[0]) ? '' : queue.shift());
    // A flag after a flag is not its value: the user forgot the value. A value that reads like one needs --flag=--value.
    const isForgotten = (word: string) => word.startsWith('--') || (!flag.anyWord && isShortFlag(command, word));
    if (value === undefined || (inline === undefined && isForgotten(value))) {
      throw usageFailure(`${typed} needs a value: ${typed} ${flag.placeholder}`);
    }
    result.push(`--${key}=${guard}${value}`);
  }
  return result;
}

/** `-it` as `-i` and `-t`, if both are switches of the command. */
function switchesOf({ flags }: Command, word: string): string[] {
  const switches = Object.values(flags).filter(({ placeholder }) => placeholder === undefined);
  const letters = /^-([a-z]{2,})$/i.exec(word)?.[1] ?? '';
  const names = letters.split('');
  const all = names.length > 0 && names.every((letter) => switches.some(({ short }) => short === letter));
  return all ? names.map((letter) => `-${letter}`) : [word];
}

/** Whether a word after an option can be its value. */
function isValue(word: string | undefined): boolean {
  return word !== undefined && !word.startsWith('-');
}

function isShortFlag({ flags }: Command, word: string): boolean {
  return Object.values(flags).some(({ short }) => short !== undefined && word === `-${short}`);
}

/** An option in a word, such as `--output=json` or `-ojson`, with the value in the same word. */
function readOption(command: Command, word: string): { typed: string; inline: string | undefined } | undefined {
  const [, short, value] = /^-([a-z])([^=].*)$/is.exec(word) ?? [];
  const takesValue = Object.values(command.flags).some(
    (flag) => flag.short === short && flag.placeholder !== undefined,
  );
  if (short !== undefined && takesValue) return { typed: `-${short}`, inline: value };
  const [, typed, inline] = /^(--?[^-=][^=]*)(?:=(.*))?$/s.exec(word) ?? [];
  return typed === undefined ? undefined : { typed, inline };
}

function find({ flags, suggestions }: Command, typed: string): [string, Flag<unknown>] {
  const entries = Object.entries(flags);
  const entry = entries.find(
    ([key, flag]) =>
      flagName(key, flag) === typed ||
      (flag.either === true && flagName(key) === typed) ||
      (flag.short !== undefined && `-${flag.short}` === typed),
  );
  if (entry) return entry;
  const visible = entries.filter(([, flag]) => !flag.hidden).map(([key, flag]) => flagName(key, flag));
  const removing = typed.replace(/^--no-/, '--remove-');
  const close =
    ownText(suggestions, typed) ?? (visible.includes(removing) ? removing : undefined) ?? optionLike(typed, visible);
  throw usageFailure(`Unknown option ${typed}.`, close === undefined ? 'see --help' : `did you mean ${close}?`);
}
