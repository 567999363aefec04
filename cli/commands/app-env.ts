import { variablesView, type VariablesView } from '../../runtime/contracts/api/variables.ts';
import { command, type Group } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { table, type Shown } from '../output.ts';
import { placeOf, type Place } from '../place.ts';
import { readVariable } from '../typed-values.ts';
import { applyChange, restartFlags } from './app-restart.ts';

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

const change = (place: Place, app: string, body: Record<string, string | null>) =>
  place.api.call('PATCH', place.path('apps', app, 'env'), variablesView, { query: place.query, body });

const set = command({
  name: 'set',
  args: ['app', '...variables'],
  description:
    'Set variables of an app; ${NAME} in a value refers to another variable or a secret, $$ is a dollar sign.',
  flags: { ...restartFlags, ...scopeFlags },
  examples: [
    'svc app env set api LOG_LEVEL=debug',
    "svc app env set api DB_HOST=db 'DATABASE_URL=postgres://app:${DB_PASSWORD}@${DB_HOST}/shop' --restart",
  ],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const body = Object.fromEntries(args.variables.map((typed) => readVariable(typed, 'svc app env set')));
    const view = await change(place, args.app, body);
    if (!flags.restart) context.print(shown(view), flags.output);
    await applyChange(context, flags, place, args.app);
  },
});

const list = command({
  name: 'list',
  args: ['app'],
  description: 'List the variables of an app with their values; secrets are listed by svc app secret list.',
  flags: scopeFlags,
  examples: ['svc app env list api', 'svc app env list api -o json'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const path = place.path('apps', args.app, 'env');
    const view = await place.api.call('GET', path, variablesView, { query: place.query });
    context.print(shown(view), flags.output);
    if (view.pendingRestart) {
      context.say(`the app runs with other values; at once: svc app restart ${args.app} ${place.flags}`);
    }
  },
});

const remove = command({
  name: 'delete',
  args: ['app', '...names'],
  description: 'Delete variables of an app.',
  flags: { ...restartFlags, ...scopeFlags },
  examples: ['svc app env delete api LOG_LEVEL', 'svc app env delete api LOG_LEVEL DB_HOST --restart'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const view = await change(place, args.app, Object.fromEntries(args.names.map((name) => [name, null])));
    if (!flags.restart) context.print(shown(view), flags.output);
    await applyChange(context, flags, place, args.app);
  },
});

export const envGroup: Group = {
  name: 'env',
  description: 'Environment variables of an app.',
  commands: [set, list, remove],
};
