import { secretReveal, secretView, type SecretView } from '../../runtime/contracts/api/variables.ts';
import { segment } from '../client.ts';
import { command, type Group } from '../command.ts';
import { scopeFlags, yesFlag } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { toggle } from '../flags.ts';
import { ago, table, type Shown } from '../output.ts';
import { placeOf, type Place } from '../place.ts';
import { askHidden, confirm, readStdin } from '../prompt.ts';
import { restartFlags, type Restartable } from './workload-restart.ts';

function shown(secrets: readonly SecretView[], data: unknown, now: Date): Shown {
  return {
    data,
    table: table(secrets, [
      { title: 'NAME', value: ({ name }) => name },
      { title: 'UPDATED', value: ({ updatedAt }) => ago(updatedAt, now) },
      { title: 'PREVIOUS', value: ({ hasPrevious }) => (hasPrevious ? 'kept' : undefined) },
    ]),
    names: secrets.map(({ name }) => name),
  };
}

/** The commands for the secrets of apps, or of functions. */
export function secretGroup({ what, example, article, applyChange }: Restartable): Group {
  const collection = `${what}s` as const;
  const pathOf = (place: Place, workload: string, secret: string, below = '') =>
    place.path(collection, workload, `secrets/${segment(secret)}${below}`);

  const set = command({
    name: 'set',
    args: [what, 'name'],
    description: `Set a secret of ${article}; its value is asked for or read from standard input, never typed as a word.`,
    flags: {
      valueStdin: toggle('read the value from standard input, instead of asking for it'),
      ...restartFlags,
      ...scopeFlags,
    },
    examples: [
      `svc ${what} secret set ${example} DB_PASSWORD`,
      `svc ${what} secret set ${example} TLS_KEY --value-stdin --restart < key.pem`,
    ],
    async run({ context, args, flags }) {
      const place = placeOf(context, flags);
      const value = flags.valueStdin
        ? await readStdin(context)
        : await askHidden(context, `Value of ${args.name}`, 'give --value-stdin, and the value on standard input');
      if (value === '') throw usageFailure('The value is empty; delete the secret instead.');
      const secret = await place.api.call('PUT', pathOf(place, args[what], args.name), secretView, {
        query: place.query,
        body: { value },
      });
      if (!flags.restart) context.print(shown([secret], secret, context.clock.now()), flags.output);
      await applyChange(context, flags, place, args[what]);
    },
  });

  const list = command({
    name: 'list',
    args: [what],
    description: `List the secrets of ${article}, without their values.`,
    flags: scopeFlags,
    examples: [`svc ${what} secret list ${example}`, `svc ${what} secret list ${example} -o name`],
    async run({ context, args, flags }) {
      const place = placeOf(context, flags);
      const secrets = await place.api.list(place.path(collection, args[what], 'secrets'), secretView, place.query);
      context.print(shown(secrets, secrets, context.clock.now()), flags.output);
    },
  });

  const reveal = command({
    name: 'reveal',
    args: [what, 'name'],
    description: 'Print the value of a secret, alone on standard output; only for admins of the project, and logged.',
    flags: scopeFlags,
    examples: [`svc ${what} secret reveal ${example} DB_PASSWORD`],
    async run({ context, args, flags }) {
      const place = placeOf(context, flags);
      const path = pathOf(place, args[what], args.name);
      const secret = await place.api.call('GET', path, secretReveal, { query: place.query });
      context.print({ data: secret, table: secret.value, names: [secret.name] }, flags.output);
    },
  });

  const restore = command({
    name: 'restore',
    args: [what, 'name'],
    description: 'Give a secret its previous value back; what it had becomes the previous one.',
    flags: { ...restartFlags, ...scopeFlags },
    examples: [`svc ${what} secret restore ${example} DB_PASSWORD --restart`],
    async run({ context, args, flags }) {
      const place = placeOf(context, flags);
      const path = pathOf(place, args[what], args.name, '/restore');
      const secret = await place.api.call('POST', path, secretView, { query: place.query });
      if (!flags.restart) context.print(shown([secret], secret, context.clock.now()), flags.output);
      await applyChange(context, flags, place, args[what]);
    },
  });

  const remove = command({
    name: 'delete',
    args: [what, '...names'],
    description: `Delete secrets of ${article}, with the values that they had before.`,
    flags: { ...yesFlag, ...restartFlags, ...scopeFlags },
    examples: [
      `svc ${what} secret delete ${example} DB_PASSWORD`,
      `svc ${what} secret delete ${example} OLD_TOKEN --yes --restart`,
    ],
    async run({ context, args, flags }) {
      const place = placeOf(context, flags);
      await confirm(context, flags, `Delete ${args.names.join(', ')} of ${args[what]}?`);
      for (const name of args.names) {
        await place.api.send('DELETE', pathOf(place, args[what], name), { query: place.query });
        context.say(`secret ${name} is deleted`);
      }
      await applyChange(context, flags, place, args[what]);
    },
  });

  return {
    name: 'secret',
    description: `Secrets of ${article}: variables whose values are kept apart.`,
    commands: [set, list, reveal, restore, remove],
  };
}
