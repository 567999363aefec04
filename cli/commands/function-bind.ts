import { bindingAccepted, bindingView, type BindingView } from '../../runtime/contracts/api/bindings.ts';
import { page } from '../../runtime/contracts/api/common.ts';
import { command } from '../command.ts';
import { scopeFlags, yesFlag } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { text, textOrNone, toggle } from '../flags.ts';
import { fields, table, type Output } from '../output.ts';
import { resolveScope } from '../scope.ts';
import { confirm } from '../prompt.ts';
import { waitFlags, waitFor, waitForRemoval } from '../wait.ts';
import { restartableFunction } from './function-restart.ts';
import { bindingPath, bindingStep, readBinding } from './function-wait.ts';
import { restartFlags } from './workload-restart.ts';

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

export const bindCommand = command({
  name: 'bind',
  args: ['function', 'service'],
  description: 'Bind a function to a service, or replace the password of its binding.',
  flags: {
    prefix: textOrNone('<prefix>', 'prefix of the variables (default DB_, REDIS_ or S3_, by service type)'),
    database: text('<name>', 'database or bucket, created if missing (default: a name of its own)'),
    ...restartFlags,
    ...scopeFlags,
  },
  examples: [
    'svc function bind price orders',
    'svc function bind price stock --prefix STOCK_',
    'svc function bind import orders --database shop',
    'svc function bind price orders --restart',
  ],
  async run({ context, args, flags }) {
    if (flags.restart && !flags.wait) {
      throw usageFailure('--restart cannot be combined with --no-wait: it waits for the binding.');
    }
    const scope = resolveScope(context, flags);
    const { function: name, service } = args;
    const body = {
      ...(flags.prefix !== undefined && { prefix: flags.prefix }),
      ...(flags.database !== undefined && { database: flags.database }),
    };
    const options = { query: scope.query, body };
    const accepted = await scope.api.call('PUT', bindingPath(scope, name, service), bindingAccepted, options);
    const { statusUrl: _, renewed = false, ...initial } = accepted;
    const binding = flags.wait
      ? await waitFor(
          context,
          flags,
          () => bindingStep(scope, name, service),
          `svc function bindings ${name} ${scope.flags}`,
        )
      : initial;
    if (!flags.restart) {
      context.print(toOutput(binding), flags.output);
      if (renewed) context.say('the old password is invalid, but running pods still have it');
    }
    await restartableFunction.applyChange(context, flags, scope, name);
  },
});

export const unbindCommand = command({
  name: 'unbind',
  args: ['function', 'service'],
  description: 'Remove the binding of a function to a service. The database is kept.',
  flags: {
    dropDatabase: toggle('also delete the database that the binding created, with all data'),
    ...yesFlag,
    ...waitFlags,
    ...scopeFlags,
  },
  examples: ['svc function unbind price orders', 'svc function unbind price orders --drop-database --yes'],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    const { function: name, service } = args;
    const { database = '' } = await readBinding(scope, name, service);
    if (flags.dropDatabase) {
      await confirm(context, flags, `Delete the database ${database} of ${service} with all its data?`);
    }
    const query = { ...scope.query, ...(flags.dropDatabase && { dropDatabase: 'true' }) };
    await scope.api.send('DELETE', bindingPath(scope, name, service), { query });
    if (!flags.dropDatabase) {
      const note = database === '' ? '' : `; the database ${database} is kept`;
      context.say(`${name} is no longer bound to ${service}${note}`);
      return;
    }
    if (flags.wait) {
      await waitForRemoval(context, flags, {
        subject: `database ${database}`,
        read: () => readBinding(scope, name, service),
        check: `svc function bindings ${name} ${scope.flags}`,
      });
    }
    context.say(`database ${database} ${flags.wait ? 'is deleted' : 'is being deleted'}`);
  },
});

export const bindingsCommand = command({
  name: 'bindings',
  args: ['function'],
  description: 'List the bindings of a function and their variables.',
  flags: scopeFlags,
  examples: ['svc function bindings price', 'svc function bindings price -o json'],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    const path = scope.path('functions', args.function, 'bindings');
    const { items } = await scope.api.call('GET', path, page(bindingView), { query: scope.query });
    context.print(
      {
        data: items,
        table: table(items, [
          { title: 'SERVICE', value: ({ service }) => service },
          { title: 'TYPE', value: ({ type }) => type },
          { title: 'STATUS', value: ({ status }) => status },
          { title: 'DATABASE', value: ({ database }) => database },
          { title: 'VARIABLES', value: ({ prefix }) => prefix && `${prefix}*` },
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
