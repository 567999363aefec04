import { z } from 'zod';
import { page } from '../runtime/contracts/api/common.ts';
import { findGroup, loadGroup, openGroup, type Command, type Group, type LazyGroup } from './command.ts';
import type { Context } from './context.ts';
import { fieldsOf } from './data-fields.ts';
import { acrossEnvironments } from './environments.ts';
import { flagName, type Flag } from './flags.ts';
import { commandNamed } from './parse.ts';
import { resolvePlatform, resolveProject, resolveScope, type Scope } from './scope.ts';

/** A word that can stand at the cursor. */
interface Candidate {
  word: string;
  description?: string;
}

/** What a shell offers: words, or the names of files. */
export type Completion = readonly Candidate[] | 'files';

/** How long an answer may take; a shell waits for it at each press of Tab. */
const limitMs = 1_000;

/** Where the names come from that an argument or an option takes, by the word in its brackets. */
const sources: Readonly<
  Record<string, readonly [collection: Parameters<Scope['path']>[0], level: keyof typeof levels]>
> = {
  app: ['apps', 'environment'],
  deployment: ['deployments', 'environment'],
  environment: ['environments', 'project'],
  function: ['functions', 'environment'],
  job: ['jobs', 'environment'],
  key: ['api-keys', 'environment'],
  notification: ['notifications', 'project'],
  plan: ['plans', 'environment'],
  project: ['projects', 'platform'],
  service: ['services', 'environment'],
  token: ['tokens', 'project'],
  volume: ['volumes', 'environment'],
};

/** Arguments that can be objects of two kinds, each with what precedes its name. */
const mixed: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  target: { app: 'app/', service: 'service/' },
  workload: { app: '', function: '' },
};

/** Arguments that are files or folders of this machine. Those of `svc app cp` may also be paths in a pod. */
const fileArgs: readonly string[] = ['file', 'folder', 'from', 'to'];

const levels = { environment: resolveScope, project: resolveProject, platform: resolvePlatform };

/** What can follow words of a command line, of which the last one is incomplete or empty. Never rejects. */
export async function complete(
  root: Group | LazyGroup,
  words: readonly string[],
  context: Context,
): Promise<Completion> {
  const current = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  let branch: Group | LazyGroup = root;
  for (;;) {
    const next = await findGroup(branch, before[0]);
    if (!next) break;
    branch = next;
    before.shift();
  }
  const [word, ...rest] = before;
  if (word === undefined) return matching(current, wordsOf(await loadGroup(branch)));
  const command = await commandNamed(await openGroup(branch), word);
  if (!command) return [];
  try {
    return await completeCommand(command, rest, current, context);
  } catch {
    // A shell has no place for errors.
    return [];
  }
}

function wordsOf({ commands, groups = [] }: Group): Candidate[] {
  const visible = commands.filter(({ hidden }) => !hidden);
  return [...visible, ...groups].map(({ name, description }) => ({ word: name, description }));
}

async function completeCommand(
  command: Command,
  words: readonly string[],
  current: string,
  context: Context,
): Promise<Completion> {
  const { positional, flags, open } = readWords(command, words);
  if (open) return completeValue(command, open, current, { context, flags });
  const [, name, value] = /^(--[^=]+)=(.*)$/s.exec(current) ?? [];
  const flag = name === undefined ? undefined : flagNamed(command, name);
  if (flag && value !== undefined) {
    const values = await completeValue(command, flag, value, { context, flags });
    return values === 'files'
      ? values
      : values.map((candidate) => ({ ...candidate, word: `${name}=${candidate.word}` }));
  }
  if (current.startsWith('-')) return matching(current, optionsOf(command));
  const arg = command.args[positional] ?? command.args.find((candidate) => candidate.startsWith('...'));
  if (arg === undefined) return [];
  const kind = arg.replace('...', '').replace('?', '').replace(/s$/, '');
  if (fileArgs.includes(kind)) return 'files';
  return matching(current, await namesOf(kind, { context, flags }));
}

interface Surroundings {
  context: Context;
  /** The values of options on the command line, by name. */
  flags: Readonly<Record<string, string>>;
}

/** The arguments and options before the cursor. `open` is an option whose value stands at the cursor. */
function readWords(command: Command, words: readonly string[]) {
  const flags: Record<string, string> = {};
  let positional = 0;
  let open: Flag<unknown> | undefined;
  let openName = '';
  for (const word of words) {
    const [, typed, value] = /^(--?[^=]+)(?:=(.*))?$/s.exec(word) ?? [];
    if (open) {
      flags[openName] = word;
      open = undefined;
    } else if (typed === undefined) positional += 1;
    else {
      openName = keyOf(command, typed);
      if (value !== undefined) flags[openName] = value;
      else open = flagNamed(command, typed);
    }
  }
  return { positional, flags, open };
}

function keyOf({ flags }: Command, typed: string): string {
  return Object.keys(flags).find((key) => names(key, flags[key]).includes(typed)) ?? '';
}

/** The option with a name, if it takes a value. */
function flagNamed(command: Command, typed: string): Flag<unknown> | undefined {
  const flag = command.flags[keyOf(command, typed)];
  return flag?.placeholder === undefined ? undefined : flag;
}

function names(key: string, flag: Flag<unknown> | undefined): string[] {
  return [flagName(key, flag), ...(flag?.short === undefined ? [] : [`-${flag.short}`])];
}

function optionsOf({ flags }: Command): Candidate[] {
  const visible = Object.entries(flags).filter(([, flag]) => !flag.hidden);
  return [
    ...visible.map(([key, flag]) => ({ word: flagName(key, flag), description: flag.description })),
    { word: '--help', description: 'show this help' },
  ];
}

async function completeValue(
  { data }: Command,
  { placeholder = '' }: Flag<unknown>,
  current: string,
  surroundings: Surroundings,
): Promise<Completion> {
  if (placeholder === '<file>' || placeholder === '<folder>') return 'files';
  if (placeholder === '[fields]' && data) {
    const start = current.slice(0, current.lastIndexOf(',') + 1);
    return matching(
      current,
      fieldsOf(data).map((field) => ({ word: `${start}${field}` })),
    );
  }
  const choices = /^<([^<>]+\|[^<>]+)>$/.exec(placeholder)?.[1];
  if (choices !== undefined)
    return matching(
      current,
      choices.split('|').map((word) => ({ word })),
    );
  return matching(current, await namesOf(/^<([a-z]+)/.exec(placeholder)?.[1] ?? '', surroundings));
}

/** The names of the objects of a kind, as the platform has them now; none when it does not answer in time. */
async function namesOf(kind: string, { context, flags }: Surroundings): Promise<Candidate[]> {
  if (kind === 'context') return Object.keys(context.configuration.contexts).map((word) => ({ word }));
  if (Object.hasOwn(mixed, kind)) {
    const lists = Object.entries(mixed[kind] ?? {}).map(async ([one, prefix]) =>
      (await namesOf(one, { context, flags })).map(({ word }) => ({ word: `${prefix}${word}` })),
    );
    return (await Promise.all(lists)).flat();
  }
  if (kind === 'shell') return ['bash', 'zsh', 'fish', 'powershell'].map((word) => ({ word }));
  const [collection, level] = sources[kind] ?? [];
  if (collection === undefined || level === undefined) return [];
  const { api, project, environment } = flags;
  const scope = levels[level](context, { api, project, environment });
  const late = new AbortController();
  const answer = acrossEnvironments(
    scope,
    async (query) => (await scope.api.call('GET', scope.path(collection), page(z.looseObject({})), { query })).items,
  );
  try {
    const { items } = await Promise.race([answer, timeUp(context, late.signal)]);
    const words = new Set(items.map((item) => nameOf(kind, item)));
    return [...words].filter(isPlain).map((word) => ({ word }));
  } finally {
    late.abort();
    answer.catch(() => undefined);
  }
}

async function timeUp({ clock }: Context, signal: AbortSignal): Promise<never> {
  await clock.sleep(limitMs, signal);
  throw new Error('The platform did not answer in time.');
}

/** Keys are addressed by their handle. Access tokens have one, too, but are addressed by name. */
function nameOf(kind: string, { name, handle, id }: Record<string, unknown>): string {
  return String((kind === 'key' ? handle : name) ?? id);
}

/** Whether a shell takes a word as it is. The words come from a server, and become part of a command line. */
function isPlain(word: string): boolean {
  return /^[A-Za-z0-9][\w.-]*$/.test(word);
}

function matching(current: string, candidates: readonly Candidate[]): Candidate[] {
  return candidates.filter(({ word }) => word.startsWith(current));
}
