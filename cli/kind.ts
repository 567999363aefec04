import type { z } from 'zod';
import { paintFor, type Paint } from './colour.ts';
import { command, type Command } from './command.ts';
import { apiFlags, projectFlags, scopeFlags, yesFlag } from './common-flags.ts';
import type { Context } from './context.ts';
import { acrossEnvironments } from './environments.ts';
import { deleteAll, type Deletable } from './deletion.ts';
import type { FlagValues } from './flags.ts';
import { fields, table, type Column, type Field, type Output, type OutputFormat } from './output.ts';
import { resolvePlatform, resolveProject, resolveScope, type Scope } from './scope.ts';
import { waitFlags } from './wait.ts';

const levels = {
  environment: {
    flags: scopeFlags,
    resolve: resolveScope,
    owner: 'in an environment, or in all environments of the project',
    example: '--project shop --environment prod -o name',
  },
  project: { flags: projectFlags, resolve: resolveProject, owner: 'in a project', example: '--project shop -o json' },
  platform: { flags: apiFlags, resolve: resolvePlatform, owner: 'on the platform', example: '-o json' },
} as const;

/** For lists across environments. */
export const environmentColumn: Column<unknown> = {
  title: 'ENVIRONMENT',
  value: (view) => (view as { environment?: string }).environment,
};

/** How views are printed: the time for ages, and the colours. */
interface Style {
  now: Date;
  paint: Paint;
}

/** The common parts of the commands for one kind of thing: its path in the API, its tables and its help. */
interface Definition<View> {
  /** The name on the command line: `job`, `platform notification`. */
  name: string;
  /** Default: the name with an s. */
  plural?: string;
  article?: 'a' | 'an';
  level: keyof typeof levels;
  collection: Parameters<Scope['path']>[0];
  schema: z.ZodType<View>;
  /** The value for `-o name` and the first column. */
  id: (view: View) => string;
  /** Names for the examples in the help. */
  examples: readonly [string, string];
  /** The columns of `list` after the first one. */
  columns(items: readonly View[], style: Style): readonly Column<View>[];
  /** The fields of `show`, or its whole text (default: the table of `list` with one row). */
  details?(view: View, style: Style): readonly Field[] | string;
  /** Descriptions of the commands that replace the defaults. */
  help?: { list?: string; show?: string; delete?: string };
  loss?: string;
  consequence?(view: View): string | undefined;
  warning?(view: View, scope: Scope): string;
  immediate?: boolean;
  /** Finds a thing in the list, for a kind without a route for one thing. */
  read?: (scope: Scope, name: string) => Promise<View>;
}

type KindFlags = FlagValues<typeof scopeFlags>;

/** The functions and commands that {@link defineKind} derives. */
export interface Kind<View> extends Definition<View>, Deletable<View> {
  plural: string;
  article: 'a' | 'an';
  /** The flags of the kind's level; flags that the level does not have are undefined. */
  flags: typeof scopeFlags;
  resolve(context: Context, flags: KindFlags): Scope;
  path(scope: Scope, name: string, below?: string): string;
  /** @throws Failure `not_found` */
  read: (scope: Scope, name: string) => Promise<View>;
  /** The list of the scope's environment, or of all environments if none is set. */
  readAll(scope: Scope): ReturnType<typeof acrossEnvironments<View>>;
  create(scope: Scope, body: object): Promise<View>;
  update(scope: Scope, name: string, body: object): Promise<View>;
  print(context: Context, view: View, format: OutputFormat | undefined): void;
  /** @param extra columns after the first one */
  printList(
    context: Context,
    views: readonly View[],
    format: OutputFormat | undefined,
    extra?: readonly Column<View>[],
  ): void;
  list: Command;
  show: Command;
  delete: Command;
}

/** Declares a kind, and derives its functions and the commands `list`, `show` and `delete`. */
export function defineKind<View>(definition: Definition<View>): Kind<View> {
  const { name, plural = `${name}s`, article = 'a', collection, schema, id, help = {}, examples } = definition;
  const level = levels[definition.level];
  const [noun, nouns] = [lastWord(name), lastWord(plural)];
  // The cast is safe: flags that the level does not have are undefined.
  const flags = level.flags as typeof scopeFlags;
  const path: Kind<View>['path'] = (scope, item, below) => scope.path(collection, item, below);
  const read: Kind<View>['read'] =
    definition.read ?? ((scope, item) => scope.api.call('GET', path(scope, item), schema, { query: scope.query }));

  const styleOf = (context: Context): Style => ({ now: context.clock.now(), paint: paintFor(context) });
  const rows = (views: readonly View[], style: Style, extra: readonly Column<View>[] = []): string => {
    const first: Column<View> = { title: noun.toUpperCase(), value: id };
    return table(views, [first, ...extra, ...definition.columns(views, style)], style.paint);
  };
  const toText = (view: View, style: Style): string => {
    const details = definition.details?.(view, style) ?? rows([view], style);
    return typeof details === 'string' ? details : fields(details, style.paint);
  };
  const toOutput = (view: View, style: Style): Output => ({
    data: view,
    table: toText(view, style),
    names: [id(view)],
  });

  const kind: Omit<Kind<View>, 'list' | 'show' | 'delete'> = {
    ...definition,
    plural,
    article,
    flags,
    resolve: level.resolve,
    path,
    read,
    readAll: (scope) => acrossEnvironments(scope, (query) => scope.api.list(scope.path(collection), schema, query)),
    create: (scope, body) => scope.api.call('POST', scope.path(collection), schema, { query: scope.query, body }),
    update: (scope, item, body) => scope.api.call('PATCH', path(scope, item), schema, { query: scope.query, body }),
    print: (context, view, format) => context.print(toOutput(view, styleOf(context)), format),
    printList: (context, views, format, extra) =>
      context.print({ data: views, table: rows(views, styleOf(context), extra), names: views.map(id) }, format),
  };

  const list = command({
    name: 'list',
    description: help.list ?? `List the ${plural} ${level.owner}.`,
    flags,
    data: schema,
    watch: true,
    examples: [`svc ${name} list`, `svc ${name} list ${level.example}`],
    async run({ context, flags: values }) {
      const scope = kind.resolve(context, values);
      const { items, several } = await kind.readAll(scope);
      kind.printList(context, items, values.output, several ? [environmentColumn] : []);
    },
  });

  const show = command({
    name: 'show',
    args: [noun],
    description: help.show ?? `Show ${article} ${name}.`,
    flags,
    data: schema,
    watch: true,
    examples: [`svc ${name} show ${examples[0]}`, `svc ${name} show ${examples[0]} -o json`],
    async run({ context, args, flags: values }) {
      kind.print(context, await read(kind.resolve(context, values), args[noun] ?? ''), values.output);
    },
  });

  const remove = command({
    name: 'delete',
    args: [`...${nouns}`],
    description: help.delete ?? `Delete ${plural}.`,
    flags: { ...yesFlag, ...(definition.immediate ? ({} as typeof waitFlags) : waitFlags), ...flags },
    examples: [`svc ${name} delete ${examples[0]}`, `svc ${name} delete ${examples.join(' ')} --yes`],
    async run({ context, args, flags: values }) {
      await deleteAll(context, values, { kind, scope: kind.resolve(context, values), names: args[nouns] ?? [] });
    },
  });

  return { ...kind, list, show, delete: remove };
}

/** The noun of a name such as `platform notification`, for arguments and tables. */
function lastWord(name: string): string {
  return name.slice(name.lastIndexOf(' ') + 1);
}
