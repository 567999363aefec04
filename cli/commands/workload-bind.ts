import { bindingAccepted, bindingView, type BindingView } from '../../runtime/contracts/api/bindings.ts';
import { page } from '../../runtime/contracts/api/common.ts';
import { segment } from '../client.ts';
import { command, type Command } from '../command.ts';
import { scopeFlags, yesFlag } from '../common-flags.ts';
import { Failure, usageFailure } from '../failure.ts';
import { text, textOrNone, toggle } from '../flags.ts';
import { fields, table, type Output } from '../output.ts';
import { resolveScope, type Scope } from '../scope.ts';
import { confirm } from '../prompt.ts';
import { waitFlags, waitFor, waitForRemoval, type Step } from '../wait.ts';
import { changeFlags, type Restartable } from './workload-restart.ts';

/** The path of a workload's binding. */
function bindingPath(scope: Scope, kind: Restartable['kind'], name: string, service: string): string {
  return scope.path(`${kind}s`, name, `bindings/${segment(service)}`);
}

function readBinding(scope: Scope, kind: Restartable['kind'], name: string, service: string): Promise<BindingView> {
  return scope.api.call('GET', bindingPath(scope, kind, name, service), bindingView, { query: scope.query });
}

/** The status of a binding. @throws Failure `failed` with the reason */
export async function bindingStep(
  scope: Scope,
  kind: Restartable['kind'],
  name: string,
  service: string,
): Promise<Step<BindingView>> {
  const binding = await readBinding(scope, kind, name, service);
  if (binding.status === 'failed') {
    const message = binding.message ?? 'see its status';
    throw new Failure(`The binding to "${service}" failed: ${message}`, { code: 'failed' });
  }
  if (binding.status === 'ready') return { done: binding };
  return { progress: `${service}: ${binding.message ?? binding.status}` };
}

/** The variables with the prefix in short, and the others: `DB_*, DATABASE_URL`. */
function variablesText({ prefix, variables }: BindingView): string | undefined {
  const others = variables.filter((name) => prefix === undefined || !name.startsWith(prefix));
  const prefixed = others.length < variables.length ? [`${prefix}*`] : [];
  return [...prefixed, ...others].join(', ') || undefined;
}

function toOutput(binding: BindingView): Output {
  return {
    data: binding,
    table: fields([
      ['Service', binding.service],
      ['Type', binding.type],
      ['Status', binding.status],
      ['Message', binding.message],
      ['Database', binding.database],
      ['Variables', binding.variables.join(', ') || undefined],
    ]),
    names: [binding.service],
  };
}

/** The commands for the bindings of a kind of workload. */
export function bindingCommands({
  kind,
  article,
  example,
  applyChange,
  restarts,
}: Restartable): Record<'bind' | 'bindings' | 'unbind', Command> {
  const bind = command({
    name: 'bind',
    args: [kind, 'service'],
    description: `Bind ${article} to a service, or replace the password of its binding.`,
    flags: {
      prefix: textOrNone('<prefix>', 'prefix of the variables (default DB_, REDIS_ or S3_, by service type)'),
      database: text('<name>', 'database or bucket, created if missing (default: a name of its own)'),
      ...changeFlags({ restarts }),
      ...waitFlags,
      ...scopeFlags,
    },
    examples: [
      `svc ${kind} bind ${example} orders`,
      `svc ${kind} bind ${example} stock --prefix STOCK_`,
      `svc ${kind} bind ${example} orders --database shop`,
      ...(restarts ? [`svc ${kind} bind ${example} orders --restart`] : []),
    ],
    async run({ context, args, flags }) {
      if (flags.restart && !flags.wait) {
        throw usageFailure('--restart cannot be combined with --no-wait: it waits for the binding.');
      }
      const scope = resolveScope(context, flags);
      const { [kind]: name, service } = args;
      const body = {
        ...(flags.prefix !== undefined && { prefix: flags.prefix }),
        ...(flags.database !== undefined && { database: flags.database }),
      };
      const path = bindingPath(scope, kind, name, service);
      const accepted = await scope.api.call('PUT', path, bindingAccepted, { query: scope.query, body });
      const { statusUrl: _, renewed = false, ...initial } = accepted;
      const binding = flags.wait
        ? await waitFor(
            context,
            flags,
            () => bindingStep(scope, kind, name, service),
            `svc ${kind} bindings ${name} ${scope.flags}`,
          )
        : initial;
      if (!flags.restart) {
        context.print(toOutput(binding), flags.output);
        if (renewed) context.say('the old password is invalid, but running pods still have it');
      }
      await applyChange(context, flags, scope, name);
    },
  });

  const unbind = command({
    name: 'unbind',
    args: [kind, 'service'],
    description: `Remove the binding of ${article} to a service. The database is kept.`,
    flags: {
      dropDatabase: toggle('also delete the database that the binding created, with all data'),
      ...yesFlag,
      ...waitFlags,
      ...scopeFlags,
    },
    examples: [`svc ${kind} unbind ${example} orders`, `svc ${kind} unbind ${example} orders --drop-database --yes`],
    async run({ context, args, flags }) {
      const scope = resolveScope(context, flags);
      const { [kind]: name, service } = args;
      const { database = '', type } = await readBinding(scope, kind, name, service);
      const noun = type === 'minio' ? 'bucket' : 'database';
      if (flags.dropDatabase) {
        if (type === 'redis') throw usageFailure(`The binding to ${service} has no database; omit --drop-database.`);
        await confirm(context, flags, `Delete the ${noun} ${database} of ${service} with all its data?`);
      }
      const query = { ...scope.query, ...(flags.dropDatabase && { dropDatabase: 'true' }) };
      await scope.api.send('DELETE', bindingPath(scope, kind, name, service), { query });
      if (!flags.dropDatabase) {
        const note = database === '' ? '' : `; the ${noun} ${database} is kept`;
        context.say(`${name} is no longer bound to ${service}${note}`);
        await applyChange(context, { ...flags, restart: false }, scope, name);
        return;
      }
      if (flags.wait) {
        await waitForRemoval(context, flags, {
          subject: `${noun} ${database}`,
          read: () => readBinding(scope, kind, name, service),
          check: `svc ${kind} bindings ${name} ${scope.flags}`,
        });
      }
      context.say(`${noun} ${database} ${flags.wait ? 'is deleted' : 'is being deleted'}`);
      await applyChange(context, { ...flags, restart: false }, scope, name);
    },
  });

  const bindings = command({
    name: 'bindings',
    args: [kind],
    description: `List the bindings of ${article} and their variables.`,
    flags: scopeFlags,
    examples: [`svc ${kind} bindings ${example}`, `svc ${kind} bindings ${example} -o json`],
    async run({ context, args, flags }) {
      const scope = resolveScope(context, flags);
      const path = scope.path(`${kind}s`, args[kind], 'bindings');
      const { items } = await scope.api.call('GET', path, page(bindingView), { query: scope.query });
      context.print(
        {
          data: items,
          table: table(items, [
            { title: 'SERVICE', value: ({ service }) => service },
            { title: 'TYPE', value: ({ type }) => type },
            { title: 'STATUS', value: ({ status }) => status },
            { title: 'DATABASE', value: ({ database }) => database },
            { title: 'VARIABLES', value: variablesText },
            ...(items.some(({ message }) => message !== undefined)
              ? [{ title: 'MESSAGE', value: ({ message }: BindingView) => message }]
              : []),
          ]),
          names: items.map(({ service }) => service),
        },
        flags.output,
      );
    },
  });
  return { bind, unbind, bindings };
}
