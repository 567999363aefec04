import { bindingAccepted, bindingView, type BindingView } from '../../runtime/contracts/api/bindings.ts';
import { page } from '../../runtime/contracts/api/common.ts';
import { command } from '../command.ts';
import { scopeFlags, yesFlag } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { text, textOrNone, toggle } from '../flags.ts';
import { fields, table, type Shown } from '../output.ts';
import { placeOf } from '../place.ts';
import { confirm } from '../prompt.ts';
import { waitFlags, waitFor, waitForRemoval } from '../wait.ts';
import { restartableFunction } from './function-restart.ts';
import { bindingPath, bindingStep, readBinding } from './function-wait.ts';
import { restartFlags } from './workload-restart.ts';

function shown(binding: BindingView): Shown {
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
  description:
    'Bind a function to a service: it gets a database and user of its own and finds them in its environment. Once more makes a new password.',
  flags: {
    prefix: textOrNone(
      '<prefix>',
      'what its variables begin with (default DB_, REDIS_ or S3_, by the type of the service)',
    ),
    database: text(
      '<name>',
      'database, or bucket; made if it is missing (default <service>_<function>_<environment>; bucket: <function>)',
    ),
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
      throw usageFailure('--restart waits until the binding is ready, and does not go with --no-wait.');
    }
    const place = placeOf(context, flags);
    const { function: name, service } = args;
    const body = {
      ...(flags.prefix !== undefined && { prefix: flags.prefix }),
      ...(flags.database !== undefined && { database: flags.database }),
    };
    const options = { query: place.query, body };
    const accepted = await place.api.call('PUT', bindingPath(place, name, service), bindingAccepted, options);
    const { statusUrl: _, renewed = false, ...first } = accepted;
    const binding = flags.wait
      ? await waitFor(
          context,
          flags,
          () => bindingStep(place, name, service),
          `it goes on: svc function bindings ${name} ${place.flags}`,
        )
      : first;
    if (!flags.restart) {
      context.print(shown(binding), flags.output);
      if (renewed) context.say('the former password counts no more, and pods that run still have it');
    }
    await restartableFunction.applyChange(context, flags, place, name);
  },
});

export const unbindCommand = command({
  name: 'unbind',
  args: ['function', 'service'],
  description: 'Take a function’s binding and its user away; its database stays unless told otherwise.',
  flags: {
    dropDatabase: toggle('delete the database that the binding made, with all its data'),
    ...yesFlag,
    ...waitFlags,
    ...scopeFlags,
  },
  examples: ['svc function unbind price orders', 'svc function unbind price orders --drop-database --yes'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const { function: name, service } = args;
    const { database = '' } = await readBinding(place, name, service);
    if (flags.dropDatabase) {
      await confirm(context, flags, `Delete the database ${database} of ${service} with all its data?`);
    }
    const query = { ...place.query, ...(flags.dropDatabase && { dropDatabase: 'true' }) };
    await place.api.send('DELETE', bindingPath(place, name, service), { query });
    if (!flags.dropDatabase) {
      const kept = database === '' ? '' : `; the database ${database} stays`;
      context.say(`${name} is bound to ${service} no more${kept}`);
      return;
    }
    const look = () => readBinding(place, name, service);
    if (flags.wait) await waitForRemoval(context, flags, `database ${database}`, look);
    context.say(`database ${database} ${flags.wait ? 'is deleted' : 'is being deleted'}`);
  },
});

export const bindingsCommand = command({
  name: 'bindings',
  args: ['function'],
  description: 'List the services that a function is bound to, and the variables that they bring.',
  flags: scopeFlags,
  examples: ['svc function bindings price', 'svc function bindings price -o json'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const path = place.path('functions', args.function, 'bindings');
    const { items } = await place.api.call('GET', path, page(bindingView), { query: place.query });
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
