import { variablesView, type VariablesView } from '../../runtime/contracts/api/variables.ts';
import { command, type Commands } from '../command.ts';
import { scopeFlags, noPromptFlag } from '../common-flags.ts';
import { table, type Output } from '../output.ts';
import { resolveScope, type Scope } from '../scope.ts';
import { readVariable } from '../key-values.ts';
import { pullCommand, pushCommand } from './workload-env-file.ts';
import { changeFlags, type Restartable } from './workload-restart.ts';

function toOutput({ variables, pendingRestart }: VariablesView): Output {
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

/** The commands for the variables of a kind of workload. */
export function envCommands(words: Restartable): Commands {
  const { kind, example, article, applyChange, restarts } = words;
  const restartFlags = changeFlags({ restarts });
  const restart = restarts ? ' --restart' : '';
  const collection = `${kind}s` as const;
  const change = (scope: Scope, workload: string, body: Record<string, string | null>) =>
    scope.api.call('PATCH', scope.path(collection, workload, 'env'), variablesView, { query: scope.query, body });

  const set = command({
    name: 'set',
    args: [kind, '...variables'],
    description: `Set variables of ${article}; \${NAME} refers to another one, $$ is a dollar.`,
    flags: { ...restartFlags, ...scopeFlags },
    examples: [
      `svc ${kind} env set ${example} LOG_LEVEL=debug`,
      `svc ${kind} env set ${example} DB_HOST=db 'DATABASE_URL=postgres://app:\${DB_PASSWORD}@\${DB_HOST}/shop'${restart}`,
    ],
    async run({ context, args, flags }) {
      const scope = resolveScope(context, flags);
      const body = Object.fromEntries(args.variables.map((typed) => readVariable(typed, `svc ${kind} env set`)));
      const view = await change(scope, args[kind], body);
      if (!flags.restart) context.print(toOutput(view), flags.output);
      await applyChange(context, flags, scope, args[kind]);
    },
  });

  const list = command({
    name: 'list',
    args: [kind],
    description: `List the variables of ${article}.`,
    flags: scopeFlags,
    data: variablesView,
    watch: true,
    examples: [`svc ${kind} env list ${example}`, `svc ${kind} env list ${example} -o json`],
    async run({ context, args, flags }) {
      const scope = resolveScope(context, flags);
      const path = scope.path(collection, args[kind], 'env');
      const view = await scope.api.call('GET', path, variablesView, { query: scope.query });
      context.print(toOutput(view), flags.output);
      if (view.pendingRestart) {
        const apply = `svc ${kind} restart ${args[kind]} ${scope.flags}`;
        context.say(`the running pods have other values; apply these now: ${apply}`);
      }
    },
  });

  const remove = command({
    name: 'delete',
    args: [kind, '...names'],
    description: `Delete variables of ${article}.`,
    flags: { ...noPromptFlag, ...restartFlags, ...scopeFlags },
    examples: [
      `svc ${kind} env delete ${example} LOG_LEVEL`,
      `svc ${kind} env delete ${example} LOG_LEVEL DB_HOST${restart}`,
    ],
    async run({ context, args, flags }) {
      const scope = resolveScope(context, flags);
      const view = await change(scope, args[kind], Object.fromEntries(args.names.map((name) => [name, null])));
      if (!flags.restart) context.print(toOutput(view), flags.output);
      await applyChange(context, flags, scope, args[kind]);
    },
  });

  return { commands: [set, list, remove, pullCommand(words), pushCommand(words)] };
}
