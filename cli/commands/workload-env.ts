import { variablesView, type VariablesView } from '../../runtime/contracts/api/variables.ts';
import { command, type Group } from '../command.ts';
import { scopeFlags, unaskedFlag } from '../common-flags.ts';
import { table, type Shown } from '../output.ts';
import { placeOf, type Place } from '../place.ts';
import { readVariable } from '../typed-values.ts';
import { restartFlags, type Restartable } from './workload-restart.ts';

function shown({ variables, pendingRestart }: VariablesView): Shown {
  const rows = Object.entries(variables).map(([name, value]) => ({ name, value }));
  return {
    data: { variables, pendingRestart },
    table: table(rows, [
      { title: 'NAME', value: ({ name }) => name },
      { title: 'VALUE', value: ({ value }) => value },
    ]),
    names: rows.map(({ name }) => name),
  };
}

/** The commands for the variables of apps, or of functions. */
export function envGroup({ what, example, article, applyChange }: Restartable): Group {
  const collection = `${what}s` as const;
  const change = (place: Place, workload: string, body: Record<string, string | null>) =>
    place.api.call('PATCH', place.path(collection, workload, 'env'), variablesView, { query: place.query, body });

  const set = command({
    name: 'set',
    args: [what, '...variables'],
    description: `Set variables of ${article}; \${NAME} in a value refers to another variable or a secret, $$ is a dollar sign.`,
    flags: { ...restartFlags, ...scopeFlags },
    examples: [
      `svc ${what} env set ${example} LOG_LEVEL=debug`,
      `svc ${what} env set ${example} DB_HOST=db 'DATABASE_URL=postgres://app:\${DB_PASSWORD}@\${DB_HOST}/shop' --restart`,
    ],
    async run({ context, args, flags }) {
      const place = placeOf(context, flags);
      const body = Object.fromEntries(args.variables.map((typed) => readVariable(typed, `svc ${what} env set`)));
      const view = await change(place, args[what], body);
      if (!flags.restart) context.print(shown(view), flags.output);
      await applyChange(context, flags, place, args[what]);
    },
  });

  const list = command({
    name: 'list',
    args: [what],
    description: `List the variables of ${article} with their values; secrets are listed by svc ${what} secret list.`,
    flags: scopeFlags,
    examples: [`svc ${what} env list ${example}`, `svc ${what} env list ${example} -o json`],
    async run({ context, args, flags }) {
      const place = placeOf(context, flags);
      const path = place.path(collection, args[what], 'env');
      const view = await place.api.call('GET', path, variablesView, { query: place.query });
      context.print(shown(view), flags.output);
      if (view.pendingRestart) {
        const restart = `svc ${what} restart ${args[what]} ${place.flags}`;
        context.say(`the ${what} runs with other values; at once: ${restart}`);
      }
    },
  });

  const remove = command({
    name: 'delete',
    args: [what, '...names'],
    description: `Delete variables of ${article}.`,
    flags: { ...unaskedFlag, ...restartFlags, ...scopeFlags },
    examples: [
      `svc ${what} env delete ${example} LOG_LEVEL`,
      `svc ${what} env delete ${example} LOG_LEVEL DB_HOST --restart`,
    ],
    async run({ context, args, flags }) {
      const place = placeOf(context, flags);
      const view = await change(place, args[what], Object.fromEntries(args.names.map((name) => [name, null])));
      if (!flags.restart) context.print(shown(view), flags.output);
      await applyChange(context, flags, place, args[what]);
    },
  });

  return { name: 'env', description: `Environment variables of ${article}.`, commands: [set, list, remove] };
}
